package overlay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

const (
	probeDir = ".probe"
	// minFree and minInodes are what an upper needs to be of any use.
	minFree   = 64 << 20
	minInodes = 1_000
)

// prober collects what is missing for one request.
type prober struct {
	s       *Strategy
	req     engine.CreateRequest
	missing []string
}

func (p *prober) miss(format string, args ...any) {
	p.missing = append(p.missing, fmt.Sprintf(format, args...))
}

// Probe says whether an overlay over this resource works on this machine, by
// mounting one. What it tried is remembered in req.BasesDir for this boot, this
// user and this pair of file systems; failures are not remembered.
func (s *Strategy) Probe(ctx context.Context, req engine.CreateRequest) (engine.Probe, error) {
	p := &prober{s: s, req: req}
	if err := p.run(ctx); err != nil {
		return engine.Probe{}, fault.Wrap("", "probe overlay", err)
	}
	if len(p.missing) > 0 {
		reason, _, _ := strings.Cut(p.missing[0], ": ")
		return engine.Probe{Reason: reason, Missing: p.missing}, nil
	}
	return engine.Probe{OK: true, Reason: "kernel overlay: nothing is copied, original paths stay valid"}, nil
}

func (p *prober) run(ctx context.Context) (err error) {
	r := p.req.Resource
	if !p.req.Confined {
		p.miss("commands would run without namespaces of their own: an overlay needs native confinement")
		return nil
	}
	lower, err := p.s.openRoot(r.Path)
	if err != nil {
		return err
	}
	defer lower.Close()
	dir, err := p.s.openRoot(p.req.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	upperFS, err := p.upper(dir)
	if err != nil {
		return err
	}
	lowerFS, err := lower.Statfs()
	if err != nil {
		return err
	}
	if isFUSE(lowerFS.Type) {
		p.miss("%s is on a FUSE file system: overlays over FUSE lose renames of links (use copy_on_write)", r.Path)
	}
	places := []string{r.Path}
	if g := r.Git; g != nil && !inside(r.Path, g.CommonDir) {
		places = append(places, g.CommonDir)
	}
	if err := p.mounts(places); err != nil {
		return err
	}
	if p.s.uid != 0 {
		if err := p.owners(ctx, lower); err != nil {
			return err
		}
	}
	if r.Git != nil {
		if err := p.gitResource(ctx); err != nil {
			return err
		}
	}
	if len(p.missing) > 0 {
		return nil
	}
	return p.really(ctx, dir, lower, upperFS.Type+"/"+lowerFS.Type)
}

func isFUSE(fsType string) bool { return fsType == "fuse" || fsType == "fuseblk" }

// upper checks the file system that layers are written to.
func (p *prober) upper(dir *fsop.Dir) (fsop.FSInfo, error) {
	fs, err := dir.Statfs()
	if err != nil {
		return fs, err
	}
	const move = "point AMBIT_HOME at a folder on a local disk (ext4, xfs, btrfs, tmpfs)"
	switch {
	case isFUSE(fs.Type), fs.Type == "nfs", fs.Type == "cifs", fs.Type == "smb2", fs.Type == "9p", fs.Type == "overlayfs",
		fs.Type == "ecryptfs", fs.Type == "vfat", fs.Type == "exfat", fs.Type == "ntfs3", fs.Type == "afs", fs.Type == "ceph", fs.Type == "vboxsf":
		p.miss("the state folder is on %s, which cannot hold an overlay's upper layer: %s", fs.Type, move)
		return fs, nil
	case fs.ReadOnly:
		p.miss("the state folder is on a read-only file system: %s", move)
		return fs, nil
	case fs.FreeBytes < minFree:
		p.miss("only %d MiB are free for the sandbox: free some space (`ambit discard` drops plans you no longer need), or %s", fs.FreeBytes>>20, move)
	case fs.HasInodes && fs.FreeInodes < minInodes:
		p.miss("only %d inodes are free for the sandbox: remove some files, or %s", fs.FreeInodes, move)
	}
	if err := dir.Mkdir(".xattr", 0o700); err != nil {
		return fs, err
	}
	err = dir.SetXattr(".xattr", "user.overlay.opaque", []byte("y"))
	if rerr := dir.Remove(".xattr"); rerr != nil {
		return fs, rerr
	}
	if err != nil {
		p.miss("the state folder's file system (%s) keeps no user attributes: %s", fs.Type, move)
	}
	return fs, nil
}

// mounts checks how the places that will be mounted over lie to other mounts and
// to the folders that ambit writes to.
func (p *prober) mounts(places []string) error {
	mounts, err := readMounts()
	if err != nil {
		return fmt.Errorf("list mounts: %w", err)
	}
	for _, place := range places {
		if below := mountsBelow(mounts, place); len(below) > 0 {
			p.miss("%s is a mount of its own inside the resource (%d in all): unmount it, or use copy_on_write, which copies what is mounted there", below[0], len(below))
		}
		for _, own := range []string{p.req.Dir, p.req.BasesDir} {
			if own == "" {
				continue
			}
			if _, err := os.Stat(own); errors.Is(err, os.ErrNotExist) {
				continue // bases are made when the first one is needed
			}
			in, err := liesWithin(mounts, place, own)
			if err != nil {
				return err
			}
			if in {
				p.miss("the state folder %s lies inside the resource %s: point AMBIT_HOME at a folder outside of it", own, place)
			}
			out, err := liesWithin(mounts, own, place)
			if err != nil {
				return err
			}
			if out {
				p.miss("the resource %s lies inside the state folder %s: point AMBIT_HOME elsewhere", place, own)
			}
		}
	}
	return nil
}

// owners looks for files that a plain user's namespace cannot write to.
func (p *prober) owners(ctx context.Context, lower *fsop.Dir) error {
	f, err := p.s.foreign(ctx, lower, p.req.Resource)
	if err != nil {
		return err
	}
	if f != nil {
		p.miss("%s: your namespace maps only user %d and group %d, so it could not be changed inside (chown it, or use another strategy)", f, p.s.uid, p.s.gid)
	}
	return nil
}

// really mounts an overlay in a child process, unless that is known to work.
func (p *prober) really(ctx context.Context, dir, lower *fsop.Dir, fsTypes string) (err error) {
	key, err := p.cacheKey(dir, lower, fsTypes)
	if err != nil {
		return err
	}
	if p.cached(key) {
		return nil
	}
	if err := dir.RemoveAll(probeDir); err != nil {
		return err
	}
	for _, sub := range []string{probeDir, probeDir + "/upper", probeDir + "/work", probeDir + "/merged"} {
		if err := dir.Mkdir(sub, 0o700); err != nil {
			return err
		}
	}
	tried := tryMount(ctx, p.req.Resource.Path, filepath.Join(p.req.Dir, probeDir))
	if err := dir.RemoveAll(probeDir); err != nil {
		return err
	}
	switch {
	case tried == nil:
		p.remember(key)
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case errors.Is(tried, errNoNamespaces):
		p.miss("%s", noNamespaces(tried))
	default:
		p.miss("an overlay over %s with its upper in %s does not work here: %s (the kernel log may say more)", p.req.Resource.Path, p.req.Dir, tried)
	}
	return nil
}

// Switches by which distributions and administrators forbid user namespaces.
const (
	switchMax      = "/proc/sys/user/max_user_namespaces"
	switchDebian   = "/proc/sys/kernel/unprivileged_userns_clone"
	switchAppArmor = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
)

func readSwitch(file string) string {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "" // this kernel has no such switch
	}
	return strings.TrimSpace(string(raw))
}

// noNamespaces says which switch forbids them, as far as it can be told.
func noNamespaces(err error) string {
	switch {
	case readSwitch(switchMax) == "0":
		return "user namespaces are switched off: `sysctl -w user.max_user_namespaces=15000` as root allows them"
	case readSwitch(switchDebian) == "0":
		return "unprivileged user namespaces are switched off: `sysctl -w kernel.unprivileged_userns_clone=1` as root allows them"
	case readSwitch(switchAppArmor) == "1":
		return "AppArmor takes all rights from unprivileged user namespaces: `ambit doctor` prints the profile that lets ambit have them"
	}
	return fmt.Sprintf("%v: a container's or the machine's policy forbids them (another strategy needs none)", err)
}
