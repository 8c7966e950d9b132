package copytree

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/fsop/fsoptest"
)

func TestO21_C42_SharesBlocksOnXFS(t *testing.T)   { t.Parallel(); shares(t, "xfs") }
func TestO21_C42_SharesBlocksOnBtrfs(t *testing.T) { t.Parallel(); shares(t, "btrfs") }

// shares makes copies on a file system that can share blocks: copy_on_write does
// and says so, filesystem_copy does not, and either is whole and independent.
func shares(t *testing.T, fstype string) {
	dir, inChild := fsoptest.OnImage(t, fstype)
	if !inChild {
		return
	}
	for _, name := range both {
		s := newScene(t)
		s.base = dir + "/" + string(name)
		s.src = s.base + "/src"
		s.req.Dir, s.req.Resource.Path = s.base+"/state/s1", s.src
		must(t, os.MkdirAll(s.src, 0o755))
		must(t, os.MkdirAll(s.req.Dir, 0o700))
		s.strat = New(name, s.options())
		s.variety(s.src)
		s.sh(s.src, "head -c 20M /dev/urandom > big")
		want := shape(t, s.src)
		unix.Sync()
		used := func() uint64 {
			unix.Sync()
			var st unix.Statfs_t
			must(t, unix.Statfs(dir, &st))
			return (st.Blocks - st.Bfree) * uint64(st.Bsize)
		}
		before := used()
		p, err := s.strat.Probe(t.Context(), s.req)
		must(t, err)
		sb := s.create()
		grown := used() - before
		sameShape(t, shape(t, s.tree()), want)
		st, notices := sb.st, strings.Join(sb.Info().Notices, "\n")
		switch name {
		case engine.StrategyCopyOnWrite:
			if st.Shared.Files == 0 || st.Shared.Bytes < 20<<20 || grown > 10<<20 || !p.OK ||
				!strings.Contains(p.Reason, "shares its blocks") || !strings.Contains(notices, "share their blocks") {
				t.Errorf("%s: shared %+v, copied %+v, %d bytes used, %q, %s", fstype, st.Shared, st.Copied, grown, p.Reason, notices)
			}
		case engine.StrategyFilesystemCopy:
			if st.Shared.Files != 0 || grown < 20<<20 || !strings.Contains(notices, "none shares") {
				t.Errorf("%s: shared %+v, %d bytes used, %s", fstype, st.Shared, grown, notices)
			}
		}
		must(t, sb.Checkpoint(t.Context(), "x"))
		s.sh(s.tree(), "printf changed | dd of=big bs=1 seek=1M conv=notrunc status=none; chmod 777 a/b/bin")
		sameShape(t, shape(t, s.src), want)
		must(t, sb.Restore(t.Context(), "x"))
		sameShape(t, shape(t, s.tree()), want)
	}
}
