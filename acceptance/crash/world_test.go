//go:build linux

package crash

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/engine"
)

// files per resource that each step changes: enough that a commit takes long
// enough to be hit.
const filesPerStep = 20

// world is one set of real resources with a state folder of its own.
type world struct {
	t                     *testing.T
	bin                   string
	base, home, repo, dir string
	env                   []string
	brittle               *bool                           // see confiners
	store                 func(engine.Store) engine.Store // wraps the store of engines; nil = as it is
	oldRepo, oldDir       string                          // hashes before anything ran
	newRepo, newDir       string                          // hashes when everything is applied
}

// ticketText has three steps; each writes to the git checkout and to the plain
// directory, and counts its own runs.
const ticketText = `# Crash ticket

## Tasks

- [ ] T1 First change

  ` + "```sh" + `
  for i in $(seq 1 20); do echo "one $i" >> f$i.txt; echo "one $i" >> "$DIR/f$i.txt"; done
  rm f30.txt "$DIR/f30.txt"
  ` + "```" + `

- [ ] T2 Second change (depends on T1)

  ` + "```sh" + `
  for i in $(seq 1 20); do echo "two $i" > new$i.txt; mkdir -p "$DIR/sub$i"; echo "two $i" > "$DIR/sub$i/x"; done
  ` + "```" + `

- [ ] T3 Third change (depends on T2)

  ` + "```sh" + `
  ln -s f1.txt link; chmod 755 f2.txt; mv f29.txt moved.txt
  ln -s f1.txt "$DIR/link"; chmod 755 "$DIR/f2.txt"; rm "$DIR/f29.txt"; mkdir "$DIR/f29.txt"
  ` + "```" + `
`

func newWorld(t *testing.T, bin string) *world {
	t.Helper()
	base := t.TempDir()
	w := &world{t: t, bin: bin, base: base, home: filepath.Join(base, "state"), repo: filepath.Join(base, "repo"), dir: filepath.Join(base, "dir")}
	person := filepath.Join(base, "home")
	for _, d := range []string{w.repo, w.dir, person} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + person, "AMBIT_HOME=" + w.home, "DIR=" + w.dir, "LC_ALL=C", "GORACE=" + os.Getenv("GORACE")}
	for i := 1; i <= 30; i++ {
		name := fmt.Sprintf("f%d.txt", i)
		w.write(filepath.Join(w.repo, name), "line "+name+"\n")
		w.write(filepath.Join(w.dir, name), "line "+name+"\n")
	}
	w.write(filepath.Join(base, "ticket.md"), ticketText)
	w.git("init", "-q", "-b", "main")
	w.git("config", "user.name", "Ada")
	w.git("config", "user.email", "ada@example.org")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "first")
	w.oldRepo, w.oldDir = w.treeHash(w.repo), w.treeHash(w.dir)
	return w
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.repo}, args...)...)
	cmd.Env = append(w.env, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// command is one invocation of the real binary from the checkout.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.bin, args...)
	cmd.Dir, cmd.Env = w.repo, w.env
	return cmd
}

// ambit runs a command to its end and returns its JSON object and exit code.
func (w *world) ambit(args ...string) (map[string]any, int) {
	w.t.Helper()
	cmd := w.command(append(args, "--json")...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	w.ended(cmd, cmd.Run())
	var obj map[string]any
	if jerr := json.Unmarshal(out.Bytes(), &obj); jerr != nil {
		w.t.Fatalf("ambit %v: no JSON object: %v\n%s\n%s", args, jerr, out.String(), errs.String())
	}
	obj["stderr"] = errs.String()
	return obj, cmd.ProcessState.ExitCode()
}

// ended fails the test when err, of a command that was waited for, is anything
// else than its exit code or signal: those are read from its state.
func (w *world) ended(cmd *exec.Cmd, err error) {
	w.t.Helper()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		w.t.Fatalf("%v: %v", cmd.Args, err)
	}
}

func (w *world) must(args ...string) map[string]any {
	w.t.Helper()
	obj, code := w.ambit(args...)
	if code != 0 {
		w.t.Fatalf("ambit %v: exit %d\n%v", args, code, obj)
	}
	return obj
}

// runArgs start the ticket over both resources.
func (w *world) runArgs() []string {
	return []string{"run", filepath.Join(w.base, "ticket.md"), "--resource", w.repo, "--resource", w.dir, "--env", "DIR"}
}

// plan returns the id of the only plan, or "".
func (w *world) plan() string {
	entries, err := os.ReadDir(filepath.Join(w.home, "plans"))
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			return e.Name()
		}
	}
	return ""
}

// treeHash covers names, kinds, modes, contents and links of a tree, without .git.
func (w *world) treeHash(root string) string {
	w.t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if rel == ".git" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %v ", rel, info.Mode())
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%x", sha256.Sum256(data))
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(h, "%q", to)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// processes lists living processes whose environment names this world's state
// folder, and descendants without one are found by their working directory.
func (w *world) processes() []string {
	var out []string
	entries, err := os.ReadDir("/proc")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		cwd, _ := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		if bytes.Contains(environ, []byte(w.base)) || bytes.Contains(cmdline, []byte(w.base)) || strings.HasPrefix(cwd, w.base) {
			out = append(out, fmt.Sprintf("%d %q", pid, bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
		}
	}
	sort.Strings(out)
	return out
}

// mounts lists mounts of the host's namespace that lie in this world.
func (w *world) mounts() []string {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, l := range strings.Split(string(raw), "\n") {
		if strings.Contains(l, w.base) {
			out = append(out, l)
		}
	}
	return out
}
