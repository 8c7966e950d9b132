//go:build linux

package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstallSaysWhere: the path that `make install` prints is where the program is,
// with GOBIN and without.
func TestInstallSaysWhere(t *testing.T) {
	if testing.Short() {
		t.Skip("it links the program twice")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command here")
	}
	cache, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Skipf("go does not say where its caches are: %v", err)
	}
	caches := strings.Fields(string(cache))
	if len(caches) != 2 {
		t.Skipf("go has no two caches: %q", cache)
	}
	if built, err := filepath.Glob(filepath.Join(caches[0], "0?", "*-d")); err != nil || len(built) < 200 {
		t.Skip("go's build cache is as good as empty here, and building everything takes minutes")
	}
	for name, env := range map[string]func(dir string) []string{
		"GOBIN":  func(dir string) []string { return []string{"GOBIN=" + dir + "/bin", "GOPATH=" + dir + "/path"} },
		"GOPATH": func(dir string) []string { return []string{"GOBIN=", "GOPATH=" + dir + "/path:" + dir + "/second"} },
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("../scripts/install")
			cmd.Env = append(append(os.Environ(), "GOCACHE="+caches[0], "GOMODCACHE="+caches[1]), env(t.TempDir())...)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			path, rest, _ := strings.Cut(string(out), "\n")
			if info, err := os.Stat(path); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%q: %v", path, err)
			}
			if !strings.Contains(rest, filepath.Dir(path)+" is not in PATH yet") {
				t.Errorf("not a word of PATH: %q", rest)
			}
		})
	}
}
