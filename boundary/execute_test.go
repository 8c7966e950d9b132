package boundary

import (
	"slices"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

// after returns what follows an option in a command line; "" if it is not there.
func after(argv []string, option string) string {
	if i := slices.Index(argv, option); i >= 0 && i+1 < len(argv) {
		return argv[i+1]
	}
	return ""
}

func TestDockerRun(t *testing.T) {
	t.Parallel()
	s := good(t)
	x, err := DockerRun(s, Execution{User: "1000:1000", Original: "/home/me/api"})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split("docker|run|-d|--name|ambit-m-1002|--label|ambit.task=M-1002|--label|ambit.spec="+s.SpecHash+
		"|--user|1000:1000|--init|--read-only|--tmpfs|/tmp:rw,exec,nosuid,nodev,mode=1777|--network|none"+
		"|--mount|type=bind,source=/tmp/work/M-1002,target=/workspace|--mount|type=bind,source=/tmp/repo/api,target=/repo,ro"+
		"|--mount|type=bind,source=/tmp/evidence,target=/evidence,ro|--mount|type=bind,source=/tmp/work/M-1002,target=/home/me/api"+
		"|--workdir|/home/me/api|--memory|4g|--memory-swap|4g|--cpus|2.0|--pids-limit|512|--cap-drop|ALL"+
		"|--security-opt|no-new-privileges:true|-e|PYTHONUNBUFFERED=1|-e|AMBIT_TASK_ID=M-1002|-e|A=b=c, \"d\"\n"+
		"|registry.example.org:5000/team/tool:1.2|sleep|infinity", "|")
	if !slices.Equal(x.Argv, want) {
		t.Errorf("got  %q\nwant %q", x.Argv, want)
	}
	// Every word that the declared form lacks has its reason.
	declared, err := DockerArgv(s, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range x.Argv {
		option, _, _ := strings.Cut(word, "=")
		if !strings.HasPrefix(option, "--") || slices.Contains(declared, word) {
			continue
		}
		if !slices.ContainsFunc(x.Differs, func(d Difference) bool { return strings.HasPrefix(d.What, option) && d.Why != "" }) {
			t.Errorf("%s is not explained", word)
		}
	}
	for _, d := range []string{"rw", "a second mount at /home/me/api"} {
		if !slices.ContainsFunc(x.Differs, func(x Difference) bool { return x.What == d }) {
			t.Errorf("%s is not explained", d)
		}
	}
	if len(x.Missing) != 0 || x.Container != "ambit-m-1002" || x.Engine != "docker" {
		t.Errorf("%+v", x)
	}
	rootless, err := DockerRun(s, Execution{User: "1000:1000", Rootless: true})
	if err != nil || after(rootless.Argv, "--user") != "0:0" || after(rootless.Argv, "--workdir") != "/workspace" {
		t.Errorf("%v %q", err, rootless.Argv)
	}
	host, err := New("t", "/w", Options{Network: NetworkHost})
	if err != nil {
		t.Fatal(err)
	}
	if x, err := DockerRun(host, Execution{User: "0:0"}); err != nil || after(x.Argv, "--network") != "host" {
		t.Errorf("%v %q", err, x.Argv)
	}
	if argv, err := DockerArgv(host, ""); err != nil || slices.Contains(argv, "--network") {
		t.Errorf("%v %q", err, argv)
	}
}

// changed is a spec as it would come from a file in which something else was said.
func changed(t *testing.T, s Spec, change func(*Spec)) Spec {
	t.Helper()
	change(&s)
	var err error
	if s.SpecHash, err = s.Hash(); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestWeakerSpecs: what a spec does not ask for is not rendered, and the report
// says what it comes to.
func TestWeakerSpecs(t *testing.T) {
	t.Parallel()
	s := changed(t, good(t), func(s *Spec) { s.Mounts[1].Target = "/tmp" })
	if x, err := DockerRun(s, Execution{User: "1:1"}); err != nil || slices.Contains(x.Argv, "--tmpfs") {
		t.Errorf("a second mount at /tmp: %v %q", err, x.Argv)
	}
	s = changed(t, good(t), func(s *Spec) {
		s.ReadOnlyRoot, s.CapDrop, s.SecurityOpt, s.Network = false, []string{"NET_RAW", "CAP_CHOWN"}, []string{"label=type:ambit_t"}, NetworkHost
	})
	if r := Report(s); r.RootFilesystem != "writable" || !slices.Equal(r.CapabilitiesDropped, s.CapDrop) || r.Network != NetworkHost {
		t.Errorf("%+v", r)
	}
	if x, err := DockerRun(s, Execution{User: "1:1"}); err != nil || slices.Contains(x.Argv, "--read-only") || after(x.Argv, "--security-opt") != "label=type:ambit_t" {
		t.Errorf("%v %q", err, x.Argv)
	}
	x, err := BwrapArgv(s, Execution{User: "1:1"})
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(x.Argv, " ")
	for want, there := range map[string]bool{" --share-net ": true, "--remount-ro": false, " --cap-drop CAP_NET_RAW --cap-drop CAP_CHOWN ": true} {
		if strings.Contains(line, want) != there {
			t.Errorf("%q in %s", want, line)
		}
	}
	if !slices.ContainsFunc(x.Missing, func(d Difference) bool { return d.What == "security_opt label=type:ambit_t" }) {
		t.Errorf("%+v", x.Missing)
	}
}

func TestExecutionsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		e    Execution
		want string
	}{
		"no user":       {Execution{}, "not a user and a group by number"},
		"user by name":  {Execution{User: "me"}, "not a user and a group by number"},
		"name":          {Execution{User: "1:1", Name: "-v"}, "not a container's name"},
		"relative":      {Execution{User: "1:1", Original: "x"}, "sandbox path must be absolute: x"},
		"root":          {Execution{User: "1:1", Original: "/"}, "over the root of the container"},
		"target":        {Execution{User: "1:1", Original: "/workspace"}, "two mounts have the target /workspace"},
		"volume":        {Execution{User: "1:1", Volume: &Volume{Name: "vv", Upper: "/u", Work: "/w"}}, "the volume vv has no lower layer"},
		"volume comma":  {Execution{User: "1:1", Volume: &Volume{Name: "v,rw", Lower: []string{"/l"}, Upper: "/u", Work: "/w"}}, "not a container's name"},
		"lower comma":   {Execution{User: "1:1", Volume: &Volume{Name: "vv", Lower: []string{"/l,x"}, Upper: "/u", Work: "/w"}}, "cannot be mounted"},
		"upper escaped": {Execution{User: "1:1", Volume: &Volume{Name: "vv", Lower: []string{"/l"}, Upper: `/u\`, Work: "/w"}}, "holds a backslash"},
	} {
		_, err := DockerRun(good(t), c.e)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			if f := fault.As(err); f == nil || len(f.Diagnostics) == 0 || !strings.Contains(f.Diagnostics[0].Summary, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestMachine(t *testing.T) {
	t.Parallel()
	small := Machine{Memory: 2 << 30, CPUs: 1, PIDs: 300}
	s := good(t)
	x, err := DockerRun(s, Execution{User: "1:1", Machine: small})
	if err != nil || after(x.Argv, "--memory") != "2147483648b" || after(x.Argv, "--cpus") != "1" || after(x.Argv, "--pids-limit") != "300" {
		t.Errorf("%v %q", err, x.Argv)
	}
	if n := len(slices.DeleteFunc(x.Differs, func(d Difference) bool { return !strings.Contains(d.Why, "the default is") })); n != 3 {
		t.Errorf("%d limits are explained", n)
	}
	for want, o := range map[string]Options{
		"memory 3g exceeds this machine, which has 2147483648b": {Memory: "3g"},
		"cpus 1.5 exceeds this machine, which has 1":            {CPUs: "1.5"},
		"pids 301 exceeds this machine, which has 300":          {PIDs: 301},
	} {
		s, err := New("t", "/w", o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DockerRun(s, Execution{User: "1:1", Machine: small}); !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if _, err := DockerRun(s, Execution{User: "1:1"}); err != nil {
			t.Errorf("unknown machine: %v", err)
		}
	}
}

func TestMemoryBytes(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int64{"4g": 4 << 30, "512M": 512 << 20, "1.5k": 1536, "7": 7, "7b": 7, "1t": 1 << 40} {
		if got, ok := memoryBytes(s); !ok || got != want {
			t.Errorf("%s: %d %v", s, got, ok)
		}
	}
}

func TestVolume(t *testing.T) {
	t.Parallel()
	v := &Volume{Name: "ambit-m-1002", Lower: []string{"/l/2:x", `/l\1`}, Upper: "/u:1", Work: "/w"}
	argv, err := v.CreateArgv(good(t))
	want := `o=userxattr,lowerdir=/l/2\:x:/l\\1,upperdir=/u:1,workdir=/w`
	if err != nil || argv[len(argv)-2] != want || argv[len(argv)-1] != v.Name || after(argv, "--label") != "ambit.task=M-1002" {
		t.Errorf("%v %q", err, argv)
	}
	x, err := DockerRun(good(t), Execution{User: "1:1", Volume: v, Original: "/home/me/api"})
	for _, m := range []string{"type=volume,source=ambit-m-1002,target=/workspace,volume-nocopy", "type=volume,source=ambit-m-1002,target=/home/me/api,volume-nocopy", "type=bind,source=/tmp/repo/api,target=/repo,ro"} {
		if err != nil || !slices.Contains(x.Argv, m) {
			t.Errorf("%v: no %s in %q", err, m, x.Argv)
		}
	}
	for _, render := range []func(Spec, Execution) (Rendered, error){PodmanArgv, BwrapArgv} {
		if _, err := render(good(t), Execution{User: "1:1", Volume: v}); !fault.Is(err, fault.Unsupported) {
			t.Errorf("got %v", err)
		}
	}
}

func TestPodman(t *testing.T) {
	t.Parallel()
	x, err := PodmanArgv(good(t), Execution{User: "1000:1000", Rootless: true})
	if err != nil || x.Argv[0] != "podman" || after(x.Argv, "--userns") != "keep-id" || !slices.Contains(x.Argv, "--read-only-tmpfs=false") || len(x.Missing) != 1 {
		t.Errorf("%v %+v", err, x)
	}
	x, err = PodmanArgv(good(t), Execution{User: "1000:1000"})
	if err != nil || slices.Contains(x.Argv, "--userns") || len(x.Missing) != 0 {
		t.Errorf("%v %+v", err, x)
	}
}

func TestBwrap(t *testing.T) {
	t.Parallel()
	x, err := BwrapArgv(good(t), Execution{User: "1000:1000", Original: "/home/me/api"})
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(x.Argv, " ")
	for _, want := range []string{
		"bwrap --unshare-all --die-with-parent --new-session ", " --bind /tmp/work/M-1002 /workspace --ro-bind /tmp/repo/api /repo --ro-bind /tmp/evidence /evidence ",
		" --bind /tmp/work/M-1002 /home/me/api --remount-ro / --chdir /home/me/api --cap-drop ALL --clearenv ", " --setenv AMBIT_TASK_ID M-1002 ", " -- sleep infinity",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("no %q in %s", want, line)
		}
	}
	if strings.Contains(line, "--share-net") || x.Container != "" {
		t.Errorf("%s", line)
	}
	for _, what := range []string{"image registry.example.org:5000/team/tool:1.2", "memory 4g", "cpus 2.0", "pids"} {
		if !slices.ContainsFunc(x.Missing, func(d Difference) bool { return d.What == what }) {
			t.Errorf("%s is not said to be missing: %+v", what, x.Missing)
		}
	}
}
