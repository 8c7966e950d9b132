//go:build linux

package native

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
)

// write makes a file with the folders above it.
func write(t testing.TB, mode os.FileMode, text string, parts ...string) string {
	t.Helper()
	p := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestToolsWork runs what people run, confined.
func TestToolsWork(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	write(t, 0o644, "[user]\n\tname = Ada L\n\temail = ada@example.com\n[credential]\n\thelper = store\n", s.spec.HomeDir, ".gitconfig")
	if git, err := exec.LookPath("git"); err == nil {
		for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "first"}} {
			c := exec.Command(git, append([]string{"-C", s.real}, args...)...)
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
	}
	write(t, 0o644, "all:\n\techo made > out.txt\n", s.real, "Makefile")
	write(t, 0o644, "#include <stdio.h>\nint main(void){puts(\"compiled\");return 0;}\n", s.real, "c.c")
	write(t, 0o644, `{"name":"x","version":"1.0.0","private":true}`, s.real, "package.json")
	write(t, 0o644, `{"name":"local","version":"2.0.0"}`, s.real, "local/package.json")
	s.open()
	for _, c := range []struct{ name, needs, script, want string }{
		{"shell", "sh", "echo hello", "hello"},
		{"mktemp", "mktemp", "f=$(mktemp) && d=$(mktemp -d -p /var/tmp) && echo x > $f && test -d $d && echo made", "made"},
		{"git status", "git", "git status --short", "?? Makefile"},
		{"git commit", "git", "git add -A && git commit -qm second && git log -1 --format='%an <%ae> %s'", "Ada L <ada@example.com> second"},
		{"git identity only", "git", "git config --global credential.helper || echo none", "none"},
		{"git branch and gc", "git", "git branch -f x HEAD && git tag y && git gc -q --prune=now && git fsck && echo sound", "sound"},
		{"make", "make", "make -s && cat out.txt", "made"},
		{"gcc", "gcc", "gcc -o c c.c && ./c", "compiled"},
		{"node", "node", "node -e 'console.log(6*7)'", "42"},
		{"npm", "npm", "npm --version >/dev/null && npm install --offline --no-audit --no-fund ./local >/dev/null && ls -d node_modules/local", "node_modules/local"},
		{"python venv", "python3", "/usr/bin/python3 -m venv v && v/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'", "True"},
		{"python multiprocessing", "python3", "/usr/bin/python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))'", "[1, 2]"},
		{"pty", "script", "script -qec 'tty' /dev/null", "/dev/pts/"},
		{"loopback", "python3", `/usr/bin/python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname())
a, _ = s.accept(); a.send(b"over lo"); print(c.recv(9).decode())'`, "over lo"},
		{"rename", "mv", "mkdir d1 d2 && echo x > d1/f && mv d1/f d2/g && cat d2/g", "x"},
		{"home", "sh", "echo kept > ~/note && cat ~/note && mkdir -p ~/.cache/thing && echo ok > ~/.cache/thing/f && cat ~/.cache/thing/f", "ok"},
		{"tar", "tar", "tar cf - a.txt | tar tf -", "a.txt"},
		{"dev", "sh", "echo lost > /dev/null && head -c 3 /dev/zero | wc -c && echo err > /dev/stderr", "3"},
		{"xattr and chmod", "chmod", "chmod 600 a.txt && stat -c %a a.txt", "600"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Skipf("%s is not installed", c.needs)
			}
			if out, exit := s.sh(c.script); exit.Code != 0 || !strings.Contains(out, c.want) {
				t.Errorf("exit %+v, output %q; want %q", exit, out, c.want)
			}
		})
	}
	if b, err := os.ReadFile(filepath.Join(s.spec.PlanDir, "home", "note")); err != nil || string(b) != "kept\n" {
		t.Errorf("the private home holds %q, %v", b, err)
	}
	if out, err := exec.Command("git", "-C", s.real, "log", "--oneline", "--all").Output(); err == nil && bytes.Count(out, []byte("\n")) != 1 {
		t.Errorf("the real repository has other commits now:\n%s", out)
	}
}

// TestGoBuildsFromWarmCache builds with the person's build cache, which must come
// out of it unchanged.
func TestGoBuildsFromWarmCache(t *testing.T) {
	t.Parallel()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("go is not installed")
	}
	s := newStage(t)
	write(t, 0o644, "module example.com/x\n\ngo 1.26\n", s.real, "go.mod")
	write(t, 0o644, "package main\n\nfunc main() { println(\"built\") }\n", s.real, "main.go")
	cache := filepath.Join(s.spec.HomeDir, ".cache/go-build")
	warm := exec.Command(goTool, "build", "-o", os.DevNull, ".")
	warm.Dir = s.real
	warm.Env = append(os.Environ(), "GOCACHE="+cache, "CGO_ENABLED=0", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local")
	if out, err := warm.CombinedOutput(); err != nil {
		t.Fatalf("warm the cache: %v\n%s", err, out)
	}
	before := tree(t, cache)
	s.open()
	out, exit := s.sh("export PATH=" + filepath.Dir(goTool) + ":$PATH CGO_ENABLED=0 GOTOOLCHAIN=local; " +
		"echo '// changed' >> main.go && go build -v -o prog . && ./prog && go env GOCACHE")
	if exit.Code != 0 || out != "example.com/x\nbuilt\n"+cache+"\n" {
		t.Errorf("exit %+v; only the changed package should be compiled, the build said:\n%s", exit, out)
	}
	if after := tree(t, cache); after != before {
		t.Errorf("the person's build cache changed")
	}
}

// tree renders a folder's files with sizes and times.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	if err := filepath.Walk(dir, func(p string, fi os.FileInfo, err error) error {
		if err == nil {
			b.WriteString(p + " " + fi.ModTime().String() + " " + fi.Mode().String() + "\n")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestCanaries runs a node under a fake nvm and a go under ~/sdk while secrets
// beside them cannot be read.
func TestCanaries(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	h := s.spec.HomeDir
	canary := "CANARY-" + strconv.FormatInt(time.Now().UnixNano(), 36) // not in this file
	write(t, 0o755, "#!/bin/sh\necho fake node v99\n", h, ".nvm/versions/node/v99/bin/node")
	write(t, 0o755, "#!/bin/sh\necho fake go 1.99\n", h, "sdk/go1.99/bin/go")
	write(t, 0o755, "#!/bin/sh\necho from opt\n", h, "opt/thing/libexec/real")
	write(t, 0o755, "#!"+h+"/odd/interp\n", h, "bin/scripted")
	if err := os.MkdirAll(filepath.Join(h, "odd"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/bin/true", filepath.Join(h, "odd/interp")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(h, "opt/thing/libexec/real"), filepath.Join(h, "bin/linked")); err != nil {
		t.Fatal(err)
	}
	secrets := []string{
		write(t, 0o600, canary, h, ".ssh/id_ed25519"), write(t, 0o600, canary, h, "diary.txt"),
		write(t, 0o600, canary, h, ".netrc"), write(t, 0o600, canary, h, "opt/thing/secret"),
		write(t, 0o600, canary, s.spec.StateDir, "ambit.db"), write(t, 0o600, canary, s.spec.StateDir, "plans/other/sandboxes/s1/upper/f"),
		write(t, 0o600, canary, s.spec.PlanDir, "journal"),
	}
	s.spec.Path = strings.Join([]string{h + "/.nvm/versions/node/v99/bin", h + "/sdk/go1.99/bin", h + "/bin", os.Getenv("PATH")}, ":")
	s.open()
	for name, want := range map[string]string{"node": "fake node v99", "go": "fake go 1.99", "linked": "from opt", "scripted": ""} {
		out, exit := s.sh("PATH=" + s.spec.Path + "; " + name)
		if exit.Code != 0 || strings.TrimSpace(out) != want {
			t.Errorf("%s: exit %+v, output %q; want %q", name, exit, out, want)
		}
	}
	for _, p := range secrets {
		out, exit := s.sh("cat '" + p + "'")
		if exit.Code == 0 || strings.Contains(out, canary) {
			t.Errorf("%s can be read inside: %q", p, out)
		}
		for _, via := range []string{"/proc/1/root", "/proc/self/root", "/proc/self/cwd/../../../../../..", "/dev/fd/3/../../.."} {
			if out, _ := s.sh("cat '" + via + p + "'"); strings.Contains(out, canary) {
				t.Errorf("%s can be read through %s", p, via)
			}
		}
	}
	out, _ := s.sh("grep -rIl " + canary + " " + h + " " + filepath.Dir(s.real) + " /home /root /run /tmp /mnt /workspace /var/tmp 2>/dev/null")
	if strings.TrimSpace(out) != "" {
		t.Errorf("the canary shows inside in %q", out)
	}
	for _, p := range []string{h + "/.nvm/x", h + "/sdk/go1.99/bin/go", "/usr/x", "/etc/x", "/x"} {
		if _, exit := s.sh("echo bad > '" + p + "'"); exit.Code == 0 {
			t.Errorf("%s can be written", p)
		}
	}
}

// TestHomeModes compares what the three modes show.
func TestHomeModes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode                       engine.HomeMode
		tool, notes, ssh, writable bool
	}{
		{engine.HomeTools, true, false, false, true},
		{engine.HomeHidden, false, false, false, true},
		{engine.HomeRO, true, true, false, false},
	} {
		t.Run(string(c.mode), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			h := s.spec.HomeDir
			write(t, 0o755, "#!/bin/sh\n", h, ".cargo/bin/cargo")
			write(t, 0o600, "token", h, ".cargo/credentials.toml")
			write(t, 0o600, "key", h, ".ssh/id")
			write(t, 0o644, "notes", h, "notes.txt")
			write(t, 0o644, "[user]\nname = P\n[url \"https://token@host/\"]\ninsteadOf = x\n", h, ".gitconfig")
			s.spec.Home = c.mode
			s.open()
			for what, want := range map[string]bool{
				"test -x ~/.cargo/bin/cargo": c.tool, "test -s ~/notes.txt": c.notes, "test -s ~/.ssh/id": c.ssh,
				"test -s ~/.cargo/credentials.toml": false, "touch ~/x": c.writable, "grep -q token ~/.gitconfig": false,
				`test "$(git config user.name)" = P`: true,
			} {
				if _, exit := s.sh(what + " 2>/dev/null"); (exit.Code == 0) != want {
					t.Errorf("%s: exit %d, want success %v", what, exit.Code, want)
				}
			}
		})
	}
}
