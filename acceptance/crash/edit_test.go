//go:build linux

package crash

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestEditDuringApplyIsNotLost: a person saves a file that the plan changed, too,
// at a random moment of the apply over a live tree. Whenever that is, their text
// is what the file holds in the end: before the apply has looked it is a
// conflict, while it carries out it is turned round, afterwards it is theirs.
func TestEditDuringApplyIsNotLost(t *testing.T) {
	bin := build(t)
	seed := uint64(time.Now().UnixNano())
	codes := make(chan int, 100)
	t.Run("round", func(t *testing.T) {
		for i := range 20 {
			for _, git := range []bool{true, false} {
				t.Run(fmt.Sprintf("%02d-git=%v", i, git), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, bin)
					root := w.dir
					if git {
						root = w.repo
					}
					for k := range 150 {
						w.write(filepath.Join(root, fmt.Sprintf("g%03d", k)), "x\n")
					}
					try := w.command("try", "--keep", "--", "sh", "-c", "echo plan > f1.txt; for f in g*; do echo y >> $f; done")
					try.Dir = root
					if out, err := try.CombinedOutput(); err != nil {
						t.Fatalf("try: %v\n%s", err, out)
					}
					rng := rand.New(rand.NewPCG(seed, uint64(i)))
					apply := w.command("apply", "--yes")
					apply.Dir = root
					w.startWith(apply, func() {
						time.Sleep(time.Duration(rng.IntN(150_000)) * time.Microsecond)
						w.write(filepath.Join(root, "f1.txt"), "an hour of work\n")
					})
					raw, err := os.ReadFile(filepath.Join(root, "f1.txt"))
					if err != nil || !strings.Contains(string(raw), "an hour of work") {
						t.Errorf("the person's text is gone: %q, %v (apply ended with %d)", raw, err, apply.ProcessState.ExitCode())
					}
					codes <- apply.ProcessState.ExitCode()
				})
			}
		}
	})
	close(codes)
	seen := map[int]int{}
	for c := range codes {
		seen[c]++
	}
	t.Logf("exit codes of apply: %v", seen)
	if seen[5] == 0 {
		t.Error("no edit came before or during an apply: the test proves nothing")
	}
}
