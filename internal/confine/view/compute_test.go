package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

func baseSpec() engine.CageSpec {
	return engine.CageSpec{
		Plan: "p", PlanDir: "/home/u/.local/state/ambit/plans/p", StateDir: "/home/u/.local/state/ambit",
		Home: engine.HomeTools, HomeDir: "/home/u", Path: "/usr/bin:/bin", Network: engine.NetworkNone,
		Sandbox: []engine.Entrance{{Root: "/home/u/src/api", Mounts: []engine.Mount{{
			Kind: engine.MountOverlay, Target: "/home/u/src/api", Lower: []string{"/home/u/src/api"}, Upper: "/s/upper", Work: "/s/work",
		}}}},
	}
}

// render makes an op readable in a table.
func render(op Op) string {
	s := string(op.Kind) + " "
	switch op.Kind {
	case KindBind, KindAlias:
		s += op.Source + " -> "
	case KindOverlay:
		s += strings.Join(op.Lower, ":") + " -> "
	}
	s += op.Target
	switch {
	case op.Kind == KindLink:
		s += " = " + op.Text
	case op.ReadOnly:
		s += " ro"
	}
	return s
}

func rendered(l Layout) []string {
	var out []string
	for _, op := range l.Ops {
		out = append(out, render(op))
	}
	return out
}

// TestCompute checks single facts of layouts: what is there, what is not, and
// what comes before what.
func TestCompute(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		files map[string]string
		env   map[string]string
		same  map[string]string
		uid   int
		spec  func(*engine.CageSpec)
		want  []string // in this order
		never []string // substrings
	}{
		{
			name: "system folders show read-only, closed ones do not", uid: 1000,
			files: map[string]string{"/.dockerenv": "x", "/swapfile": "secret:x"},
			want:  []string{"link /bin = usr/bin", "bind /etc -> /etc ro", "bind /usr -> /usr ro", "tmpfs /tmp"},
			never: []string{"-> /proc", "-> /run", "-> /mnt", "-> /tmp", "-> /home ", "swapfile"},
		},
		{
			name: "the private home lies at home's place, the sandbox over it", uid: 1000, files: map[string]string{"/home/u/src/api": "dir"},
			want: []string{
				"bind /home/u/.local/state/ambit/plans/p/home -> /home/u", "overlay /home/u/src/api -> /home/u/src/api",
				"alias /home/u/src/api -> /workspace", "mask /home/u/.local/state/ambit",
			},
			never: []string{"bind /home/u -> "},
		},
		{
			name: "tool chains that exist", uid: 1000,
			files: map[string]string{"/home/u/.nvm/versions/node/v1/bin/node": "x", "/home/u/sdk/go1/bin/go": "x", "/home/u/.cargo/bin/cargo": "x", "/home/u/.cargo/credentials.toml": "x", "/home/u/.ssh/id": "x"},
			want:  []string{"bind /home/u/.cargo/bin -> /home/u/.cargo/bin ro", "bind /home/u/.nvm -> /home/u/.nvm ro", "bind /home/u/sdk -> /home/u/sdk ro"},
			never: []string{".ssh", "credentials", "bind /home/u/.cargo -> "},
		},
		{
			name: "hidden home shows none of it", uid: 1000,
			files: map[string]string{"/home/u/.nvm/versions/node/v1/bin/node": "x", "/home/u/.cache/pip": "dir", "/opt/x/bin": "dir"},
			spec: func(s *engine.CageSpec) {
				s.Home, s.Path = engine.HomeHidden, "/home/u/.nvm/versions/node/v1/bin:/usr/bin"
			},
			never: []string{".nvm", "pip"},
		},
		{
			name: "read-only home with its secrets masked", uid: 1000,
			files: map[string]string{"/home/u/.ssh/id": "x", "/home/u/.aws/credentials": "x", "/home/u/.gitconfig": "[user]\nname=P\n[credential]\nhelper=x\n"},
			spec:  func(s *engine.CageSpec) { s.Home = engine.HomeRO },
			want:  []string{"bind /home/u -> /home/u ro", "file /home/u/.gitconfig ro", "overlay /home/u/src/api", "mask /home/u/.ssh", "mask /home/u/.aws"},
		},
		{
			name: "a tool chain behind a link", uid: 1000,
			files: map[string]string{"/data/nvm/node": "x", "/home/u/.nvm": "link:/data/nvm", "/home/u/.rustup": "link:/mnt/big/rustup", "/mnt/big/rustup/x": "x"},
			want:  []string{"bind /data/nvm -> /home/u/.nvm ro", "bind /mnt/big/rustup -> /home/u/.rustup ro", "bind /mnt/big/rustup -> /mnt/big/rustup ro"},
		},
		{
			name: "PATH: links and interpreters below home", uid: 1000,
			files: map[string]string{
				"/home/u/.local/bin/tool": "link:../share/tool/versions/1/tool", "/home/u/.local/share/tool/versions/1/tool": "x", "/home/u/.local/share/tool/token": "x",
				"/home/u/.local/bin/app": "link:/home/u/apps/app/bin/app", "/home/u/apps/app/bin/app": "x", "/home/u/apps/app/lib/x": "x", "/home/u/apps/app/secret": "x",
				"/home/u/.local/bin/script": "#!/home/u/venvs/v/bin/python -s\n", "/home/u/venvs/v/bin/python": "link:/usr/bin/sh", "/home/u/venvs/v/pyvenv.cfg": "home = /usr/bin\n",
				"/home/u/.local/bin/js": "link:../np/node_modules/pkg/cli.js", "/home/u/.local/np/node_modules/pkg/cli.js": "x",
			},
			spec: func(s *engine.CageSpec) { s.Path = "/home/u/.local/bin:/usr/bin" },
			want: []string{
				"bind /home/u/.local/bin -> /home/u/.local/bin ro",
				"bind /home/u/.local/np/node_modules -> /home/u/.local/np/node_modules ro",
				"bind /home/u/.local/share/tool/versions/1/tool -> /home/u/.local/share/tool/versions/1/tool ro",
				"bind /home/u/apps/app/bin -> /home/u/apps/app/bin ro", "bind /home/u/apps/app/lib -> /home/u/apps/app/lib ro",
				"bind /home/u/venvs/v -> /home/u/venvs/v ro",
			},
			never: []string{"token", "secret", "-> /home/u/apps/app ", "-> /home/u/.local ", "-> /usr/bin ro"},
		},
		{
			name: "PATH that names too much shows nothing", uid: 1000, files: map[string]string{"/home/u/x": "x", "/home/other/bin/x": "x"},
			spec: func(s *engine.CageSpec) {
				s.Path = "/home/u:/home:/:.:relative:/home/u/.local/state/ambit/plans:/tmp:/run"
			},
			never: []string{"bind /home/u -> ", "bind /home -> ", "bind / ", "bind /tmp", "bind /run", "ambit/plans ->"},
		},
		{
			name: "system links that lead into a hidden place", uid: 1000,
			files: map[string]string{"/usr/bin/java": "link:/etc/alternatives/java", "/etc/alternatives/java": "link:/home/u/jdk/bin/java", "/home/u/jdk/bin/java": "x", "/home/u/jdk/lib/rt": "x"},
			want:  []string{"bind /home/u/jdk/bin -> /home/u/jdk/bin ro", "bind /home/u/jdk/lib -> /home/u/jdk/lib ro"},
		},
		{
			name: "caches are copy-on-write", uid: 1000,
			files: map[string]string{"/home/u/.cache/go-build/x": "x", "/home/u/go/pkg/mod/x": "x", "/data/npm/x": "x", "/home/u/go/bin/x": "x"},
			env:   map[string]string{"npm_config_cache": "/data/npm"},
			want: []string{
				"bind /home/u/go/bin -> /home/u/go/bin ro", "overlay /home/u/.cache/go-build -> /home/u/.cache/go-build",
				"overlay /home/u/go/pkg/mod -> /home/u/go/pkg/mod", "overlay /data/npm -> /data/npm", "alias /data/npm -> /home/u/.npm",
			},
		},
		{
			name: "git keeps who one is and drops helpers", uid: 1000,
			files: map[string]string{"/home/u/.gitconfig": "[user]\nname=P\n[credential]\nhelper=x\n[core]\nhooksPath=/x\nexcludesFile=~/ign\n", "/home/u/ign": "*.o\n"},
			want:  []string{"file /home/u/.gitconfig", "file /home/u/.config/git/ignore"},
		},
		{
			name: "/home is a link", uid: 1000,
			files: map[string]string{"/home": "link:var/home", "/var/home/u/src/api": "dir", "/var/home/other/x": "x"},
			want:  []string{"link /home = var/home", "tmpfs /var/home", "bind /home/u/.local/state/ambit/plans/p/home -> /var/home/u"},
			never: []string{"other"},
		},
		{
			name: "other people's homes elsewhere", uid: 0,
			files: map[string]string{"/etc/passwd": "root:x:0:0::/root:/bin/sh\nbob:x:1001:1001::/srv/homes/bob:/bin/sh\nd:x:1002:1002::/var:/bin/sh\nu:x:1000:1000::/home/u:/bin/sh\n", "/srv/homes/bob/x": "x"},
			want:  []string{"tmpfs /srv/homes/bob"}, never: []string{"tmpfs /var ", "tmpfs /home/u"},
		},
		{
			name: "root's secrets, only for root", uid: 0,
			files: map[string]string{"/etc/shadow": "x", "/etc/shadow.bak": "x", "/etc/sudoers.old": "x", "/etc/ssh/ssh_host_rsa_key": "x", "/etc/ssh/ssh_host_rsa_key.pub": "x"},
			want:  []string{"mask /etc/shadow", "mask /etc/shadow.bak", "mask /etc/ssh/ssh_host_rsa_key", "mask /etc/sudoers.old"}, never: []string{"key.pub"},
		},
		{
			name: "a plain user cannot read them anyway", uid: 1000, files: map[string]string{"/etc/shadow": "x"}, never: []string{"shadow"},
		},
		{
			name: "the state folder in a folder that shows, at every path", uid: 1000,
			files: map[string]string{
				"/srv/state/ambit/plans/p": "dir", "/data/ambit": "dir", "/lnk": "link:/srv/state",
				"/proc/self/mountinfo": "1 0 8:1 / / rw - ext4 x rw\n2 1 8:2 /all /srv/state rw - ext4 y rw\n3 1 8:2 /all /data rw - ext4 y rw\n",
			},
			same: map[string]string{"/data/ambit": "/srv/state/ambit"},
			spec: func(s *engine.CageSpec) { s.StateDir, s.PlanDir = "/lnk/ambit", "/lnk/ambit/plans/p" },
			want: []string{"mask /lnk/ambit", "mask /srv/state/ambit", "mask /data/ambit"},
		},
		{
			name: "V38: sockets in folders that show", uid: 1000,
			files: map[string]string{
				"/proc/net/unix":      "Num       RefCount Protocol Flags    Type St Inode Path\n0000: 00000002 00000000 00010000 0001 01 1 /var/lib/db/db.sock\n0000: 00000002 00000000 00010000 0001 01 1 @abstract\n0000: 00000002 00000000 00010000 0001 01 1 /run/docker.sock\n0000: 2 0 1 1 1 1 /proc/self/fd/7/sock\n",
				"/var/lib/db/db.sock": "socket:", "/run/docker.sock": "socket:",
			},
			want: []string{"mask /var/lib/db/db.sock"}, never: []string{"docker.sock", "abstract", "fd/7"},
		},
		{
			name: "resolv.conf that is a link into /run, with the host's network", uid: 1000,
			files: map[string]string{"/etc/resolv.conf": "link:../run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/stub-resolv.conf": "nameserver 127.0.0.53\n"},
			spec:  func(s *engine.CageSpec) { s.Network = engine.NetworkHost },
			want:  []string{"file /run/systemd/resolve/stub-resolv.conf"},
		},
		{
			name: "and without it", uid: 1000,
			files: map[string]string{"/etc/resolv.conf": "link:../run/r", "/run/r": "nameserver 1\n"}, never: []string{"/run/r"},
		},
		{
			name: "deeper mounts come later", uid: 1000,
			files: map[string]string{"/srv/rw/deep": "dir", "/srv/rw": "dir", "/home/u/src": "dir"},
			spec: func(s *engine.CageSpec) {
				s.ReadWrite = []string{"/srv/rw/deep", "/home/u/src", "/srv/rw"}
			},
			want: []string{"bind /srv/rw -> /srv/rw", "bind /srv/rw/deep -> /srv/rw/deep", "overlay /home/u/src/api"},
		},
		{
			name: "a home inside a sandbox", uid: 1000, files: map[string]string{"/home/u/.ssh/id": "x"},
			spec: func(s *engine.CageSpec) {
				s.Sandbox[0].Root, s.Sandbox[0].Mounts[0].Target = "/home/u", "/home/u"
			},
			want: []string{"overlay /home/u/src/api -> /home/u", "mask /home/u/.local/state/ambit", "mask /home/u/.ssh"}, never: []string{"plans/p/home ->"},
		},
		{
			name: "Windows drives are no tool chain", uid: 1000, files: map[string]string{"/mnt/c/Windows/x.exe": "x"},
			spec: func(s *engine.CageSpec) { s.Path = "/mnt/c/Windows:/usr/bin" }, never: []string{"/mnt/c"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(c.uid, c.files)
			if c.env != nil {
				h.env = c.env
			}
			if c.same != nil {
				h.same = c.same
			}
			spec := baseSpec()
			if c.spec != nil {
				c.spec(&spec)
			}
			l, err := Compute(spec, "/scratch", h)
			if err != nil {
				t.Fatal(err)
			}
			got := rendered(l)
			i := 0
			for _, w := range c.want {
				j := slices.IndexFunc(got[i:], func(s string) bool { return strings.HasPrefix(s, w) })
				if j < 0 {
					t.Fatalf("no %q after line %d of\n%s", w, i, strings.Join(got, "\n"))
				}
				i += j
			}
			for _, n := range c.never {
				for _, g := range got {
					if strings.Contains(g+" ", n) {
						t.Errorf("%q in %q", n, g)
					}
				}
			}
		})
	}
}

// TestRefusals covers specs that contradict themselves.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		spec func(*engine.CageSpec)
		code fault.Code
		says string
	}{
		{"C86: writing the sandboxed tree for real", func(s *engine.CageSpec) { s.ReadWrite = []string{"/home/u/src/api/sub"} }, fault.Denied, "written for real"},
		{"writing it by another spelling", func(s *engine.CageSpec) { s.ReadWrite = []string{"/link/api"} }, fault.Denied, "written for real"},
		{"V40: showing the state folder", func(s *engine.CageSpec) { s.ReadWrite = []string{"/home/u/.local/state/ambit/plans"} }, fault.Denied, "own state"},
		{"a path that is missing", func(s *engine.CageSpec) { s.ReadWrite = []string{"/nowhere"} }, fault.NotFound, "/nowhere"},
		{"a relative path", func(s *engine.CageSpec) { s.ReadWrite = []string{"x"} }, fault.Invalid, `"x"`},
		{"an unclean path", func(s *engine.CageSpec) { s.ReadWrite = []string{"/a/../b"} }, fault.Invalid, "clean"},
		{"everything", func(s *engine.CageSpec) { s.ReadWrite = []string{"/"} }, fault.Invalid, "below /"},
		{"a sandbox at /", func(s *engine.CageSpec) { s.Sandbox[0].Mounts[0].Target = "/" }, fault.Invalid, "cannot appear"},
		{"a sandbox in /proc", func(s *engine.CageSpec) { s.Sandbox[0].Mounts[0].Target = "/proc/x" }, fault.Invalid, "cannot appear"},
		{"an unknown mount", func(s *engine.CageSpec) { s.Sandbox[0].Mounts[0].Kind = "nfs" }, fault.Invalid, "nfs"},
		{"an unknown home mode", func(s *engine.CageSpec) { s.Home = "x" }, fault.Invalid, "home mode"},
		{"an unknown network mode", func(s *engine.CageSpec) { s.Network = "x" }, fault.Invalid, "network mode"},
		{"C53: mounts below the lower", func(s *engine.CageSpec) { s.Sandbox[0].Mounts[0].Lower = []string{"/srv/m"} }, fault.Unsupported, "other mounts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHost(1000, map[string]string{
				"/home/u/src/api/sub": "dir", "/link": "link:/home/u/src", "/home/u/.local/state/ambit/plans": "dir", "/srv/m/vol": "dir",
				"/proc/self/mountinfo": "1 0 8:1 / / rw - ext4 x rw\n2 1 8:2 / /srv/m/vol rw - ext4 y rw\n",
			})
			spec := baseSpec()
			c.spec(&spec)
			_, err := Compute(spec, "/scratch", h)
			if !fault.Is(err, c.code) || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("got %v (%s), want %s with %q", err, fault.CodeOf(err), c.code, c.says)
			}
		})
	}
}

// TestReachLeavesHoles checks the allow-list of the rung that cannot mask.
func TestReachLeavesHoles(t *testing.T) {
	t.Parallel()
	h := newHost(0, map[string]string{
		"/srv/keep/f": "x", "/srv/ambit/plans/p/s/tree": "dir", "/srv/ambit/ambit.db": "x", "/etc/shadow": "secret:x", "/etc/passwd": "",
		"/etc/ssl/private/key": "x", "/etc/ssl/certs/c": "x", "/home/u/.nvm/bin/node": "x", "/home/u/.ssh/id": "x", "/home/u/.local/bin/t": "x",
		"/var/log/x": "x", "/var/tmp/y": "x",
	})
	spec := baseSpec()
	spec.StateDir, spec.PlanDir, spec.Path = "/srv/ambit", "/srv/ambit/plans/p", "/home/u/.local/bin:/usr/bin"
	spec.Sandbox = []engine.Entrance{{Root: "/srv/ambit/plans/p/s/tree", Path: "/srv/ambit/plans/p/s/tree"}}
	r, err := ComputeReach(spec, h)
	if err != nil {
		t.Fatal(err)
	}
	can := func(list []string, p string) bool {
		return slices.ContainsFunc(list, func(d string) bool { return within(p, d) })
	}
	for p, want := range map[string]bool{
		"/srv/keep/f": true, "/srv/ambit/ambit.db": false, "/etc/passwd": true, "/etc/shadow": false, "/etc/ssl/private/key": false, "/etc/ssl/certs/c": true,
		"/home/u/.nvm/bin/node": true, "/home/u/.local/bin/t": true, "/home/u/.ssh/id": false, "/home/u/x": false, "/var/log/x": true, "/var/tmp/y": false,
		"/tmp/x": false, "/run/x": false, "/mnt/x": false, "/usr/bin/sh": true,
	} {
		if can(r.Read, p) != want {
			t.Errorf("reading %s: %v, want %v\n%v", p, !want, want, r.Read)
		}
	}
	for p, want := range map[string]bool{
		"/srv/ambit/plans/p/s/tree/f": true, "/srv/ambit/plans/p/home/f": true, "/srv/ambit/plans/p/tmp/f": true, "/dev/null": true,
		"/srv/ambit/plans/p/journal": false, "/home/u/f": false, "/tmp/f": false, "/srv/keep/f": false, "/dev/pts/0": false, "/dev/shm/f": false,
	} {
		if can(r.Write, p) != want {
			t.Errorf("writing %s: %v, want %v\n%v", p, !want, want, r.Write)
		}
	}
	if !slices.Contains(r.Set, "HOME=/srv/ambit/plans/p/home") || !slices.Contains(r.Unset, "GOCACHE") {
		t.Errorf("environment: %v %v", r.Set, r.Unset)
	}
	spec.Sandbox[0].Path = ""
	if _, err := ComputeReach(spec, h); !fault.Is(err, fault.Unsupported) {
		t.Errorf("a sandbox that exists only as a mount: %v", err)
	}
}

// TestV1_PathsCompareByComponent is the smallest rule everything stands on.
func TestV1_PathsCompareByComponent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p, dir string
		want   bool
	}{
		{"/a", "/a", true}, {"/a/b", "/a", true}, {"/ab", "/a", false}, {"/a", "/a/b", false}, {"/x", "/", true},
	} {
		if within(c.p, c.dir) != c.want {
			t.Errorf("within(%q, %q) = %v", c.p, c.dir, !c.want)
		}
	}
	got := outermost([]string{"/a-b", "/a/b", "/a", "/a/b/c", "/ab", "/a"})
	if want := []string{"/a", "/a-b", "/ab"}; !slices.Equal(got, want) {
		t.Errorf("outermost = %v, want %v", got, want)
	}
}

// TestBoundSockets reads the kernel's table: padded inodes, abstract names, paths
// with blanks; a table that is larger than what is read of it loses its cut-off line.
func TestBoundSockets(t *testing.T) {
	t.Parallel()
	const table = "Num       RefCount Protocol Flags    Type St Inode Path\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01   123 /run/b c.sock\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/a.sock\n" +
		"0000000000000000: 00000003 00000000 00000000 0001 03 12346 /run/a.sock\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01 12347 @name\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01 12348 @a@b\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01 12349 /proc/self/fd/7/x\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01 12350\n" +
		"0000000000000000: 00000002 00000000 00010000 0001 01 12351 relative\n"
	paths, abstract := BoundSockets(newHost(0, map[string]string{"/proc/net/unix": table}))
	if !slices.Equal(paths, []string{"/run/a.sock", "/run/b c.sock"}) || !slices.Equal(abstract, []string{"name"}) {
		t.Errorf("%q, %q", paths, abstract)
	}
	line := "0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/cut/off/somewhere.sock\n"
	paths, _ = BoundSockets(newHost(0, map[string]string{"/proc/net/unix": strings.Repeat(line, 2*maxSocketTable/len(line))}))
	if !slices.Equal(paths, []string{"/run/cut/off/somewhere.sock"}) {
		t.Errorf("%q", paths)
	}
}
