package boundary

import (
	"slices"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

// good is a spec with everything that can be said.
func good(t testing.TB) Spec {
	t.Helper()
	s, err := New("M-1002", "/tmp/work/M-1002", Options{
		Repo: "/tmp/repo/api", Evidence: "/tmp/evidence", Environment: Environment{{"A", "b=c, \"d\"\n"}}, Image: "registry.example.org:5000/team/tool:1.2",
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refused reports an error that is not the one wanted.
func refused(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil || !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v, want %q", name, err, want)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	s, err := New("t", "/w", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := s.Environment.Get("AMBIT_TASK_ID"); !ok || v != "t" || s.ContainerName() != "ambit-t" || s.EnvPrefix() != "AMBIT" {
		t.Errorf("%+v is called %s", s.Environment, s.ContainerName())
	}
	if got := good(t).Environment; len(got) != 3 || got[2].Name != "A" {
		t.Errorf("%+v", got)
	}
	// An override keeps its place.
	s, err = New("t", "/w", Options{Environment: Environment{{"B", "1"}, {"PYTHONUNBUFFERED", "0"}}})
	if err != nil || s.Environment[0] != (Variable{"PYTHONUNBUFFERED", "0"}) || s.Environment[2].Name != "B" {
		t.Errorf("%+v %v", s.Environment, err)
	}
}

// TestNothingIsShared: changing a spec changes neither another one nor the input.
func TestNothingIsShared(t *testing.T) {
	t.Parallel()
	o := Options{Environment: Environment{{"A", "1"}}, Command: []string{"sh", "-c", "x"}}
	a, err := New("t", "/w", o)
	if err != nil {
		t.Fatal(err)
	}
	a.Environment[0].Value, a.Environment[2].Value, a.Command[0], a.CapDrop[0], a.SecurityOpt[0], a.Mounts[0].Mode = "x", "x", "x", "x", "x", "x"
	b, err := New("t", "/w", o)
	if err != nil || b.Check() != nil {
		t.Errorf("%v %v", err, b.Check())
	}
	if o.Environment[0].Value != "1" || o.Command[0] != "sh" {
		t.Errorf("the options were changed: %+v", o)
	}
	argv, _ := DockerArgv(b, "")
	argv[len(argv)-1] = "changed"
	report := Report(b)
	report.CapabilitiesDropped[0] = "x"
	if err := b.Check(); err != nil {
		t.Errorf("a rendering was shared: %v", err)
	}
}

func TestRefusedPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"":                                 "sandbox path must be absolute: ",
		"work/x":                           "sandbox path must be absolute: work/x",
		"~/x":                              "sandbox path must be absolute: ~/x",
		"/a\x00b":                          "sandbox path cannot be mounted",
		"/a\nb":                            "sandbox path cannot be mounted",
		"/a\rb":                            "sandbox path cannot be mounted",
		"/a,b":                             "sandbox path cannot be mounted",
		`/a"b`:                             "sandbox path cannot be mounted",
		"/a ":                              "sandbox path cannot be mounted",
		"/a\u00a0":                         "sandbox path cannot be mounted",
		"/a/../b":                          "sandbox path must not hold ..: /a/../b",
		"/..":                              "sandbox path must not hold ..",
		"/a/":                              "sandbox path must be in its plain form: /a/",
		"/a//b":                            "sandbox path must be in its plain form",
		"/a/./b":                           "sandbox path must be in its plain form",
		"//a":                              "sandbox path must be in its plain form",
		"/a\xff":                           "sandbox path is not UTF-8",
		"/":                                "the root of the machine cannot be mounted",
		"/a,ro,dst=/x":                     "sandbox path cannot be mounted",
		"/" + strings.Repeat("a", maxPath): "the limit is 4095",
	} {
		_, err := New("t", path, Options{})
		refused(t, "workdir "+path, err, want)
		if path == "" {
			continue // there is none, then
		}
		_, err = New("t", "/w", Options{Repo: path})
		if path == "/" {
			want = "2 things are wrong"
		}
		refused(t, "repo "+path, err, want)
	}
	for _, path := range []string{"/a b", "/a'b", "/é", "/a:b", "/a=b", "/...", "/a..b", `/a\b`, "/-"} {
		if _, err := New("t", path, Options{}); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestV17_NothingIsCleaned: a path is taken as it is written, or refused.
func TestV17_NothingIsCleaned(t *testing.T) {
	t.Parallel()
	_, err := New("t", "/safe/../etc", Options{})
	refused(t, "..", err, "sandbox path must not hold ..: /safe/../etc")
}

func TestOverlappingMounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		work, repo, evidence string
		fine                 bool
	}{
		{"/a", "/b", "/c", true},
		{"/a", "/ab", "/a-b", true},
		{"/a", "/b", "/b/c", true}, // both read-only
		{"/a", "/b", "/b", true},
		{"/a", "/a", "", false},
		{"/a", "/a/b", "", false},
		{"/a/b", "/a", "", false},
		{"/a/b/c", "/d", "/a", false},
	} {
		_, err := New("t", c.work, Options{Repo: c.repo, Evidence: c.evidence})
		if (err == nil) != c.fine {
			t.Errorf("%+v: %v", c, err)
		}
		if err != nil {
			refused(t, c.repo, err, "one lies in the other")
		}
	}
}

func TestRefusedOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"hyphen":           {Options{Environment: Environment{{"A-B", ""}}}, "invalid environment variable name: A-B"},
		"digit":            {Options{Environment: Environment{{"1A", ""}}}, "invalid environment variable name: 1A"},
		"letter elsewhere": {Options{Environment: Environment{{"É", ""}}}, "invalid environment variable name: É"},
		"newline":          {Options{Environment: Environment{{"A\n", ""}}}, "invalid environment variable name: A\n"},
		"equals":           {Options{Environment: Environment{{"A=B", ""}}}, "invalid environment variable name: A=B"},
		"NUL":              {Options{Environment: Environment{{"A", "\x00"}}}, "holds a NUL byte"},
		"not UTF-8":        {Options{Environment: Environment{{"A", "\xff"}}}, "environment variable A is not UTF-8"},
		"long":             {Options{Environment: Environment{{"A", strings.Repeat("x", maxArg)}}}, "the limit is"},
		"twice":            {Options{Environment: Environment{{"A", "1"}, {"A", "2"}}}, "environment variable is there twice: A"},
		"another task":     {Options{Environment: Environment{{"AMBIT_TASK_ID", "u"}}}, "no environment variable names the task t"},
		"two tasks":        {Options{Environment: Environment{{"MY_TASK_ID", "t"}}}, "two environment variables name the task t"},
		"prefix":           {Options{EnvPrefix: "_X"}, "invalid environment prefix: _X"},
		"network":          {Options{Network: "bridge"}, "network is not known: bridge"},
		"image option":     {Options{Image: "--privileged"}, "not the name of an image"},
		"image space":      {Options{Image: "a b"}, "not the name of an image"},
		"image case":       {Options{Image: "team/Tool"}, "not the name of an image"},
		"memory":           {Options{Memory: "lots"}, "memory does not parse"},
		"memory unit":      {Options{Memory: "4gib"}, "memory does not parse"},
		"memory minus":     {Options{Memory: "-1g"}, "memory does not parse"},
		"memory little":    {Options{Memory: "5m"}, "memory does not parse"},
		"memory much":      {Options{Memory: "99999999t"}, "memory does not parse"},
		"cpus":             {Options{CPUs: "two"}, "cpus does not parse"},
		"cpus zero":        {Options{CPUs: "0.001"}, "cpus does not parse"},
		"cpus exponent":    {Options{CPUs: "1e3"}, "cpus does not parse"},
		"cpus infinite":    {Options{CPUs: "inf"}, "cpus does not parse"},
		"pids":             {Options{PIDs: -1}, "pids is no number of processes: -1"},
		"command":          {Options{Command: []string{}}, "the container has no command"},
		"command NUL":      {Options{Command: []string{"a", "\x00"}}, "an argument of the command holds a NUL byte"},
	} {
		_, err := New("t", "/w", c.o)
		refused(t, name, err, c.want)
	}
	for id, want := range map[string]string{"": "the task has no id", "a\nb": "holds a control character", "\xff": "not UTF-8", "a\x00": "NUL byte"} {
		_, err := New(id, "/w", Options{})
		refused(t, id, err, want)
	}
	for _, image := range []string{"a", "a:1", "localhost/a", "localhost:5000/a/b_c:v1", "a@sha256:" + strings.Repeat("0", 64), "sha256:" + strings.Repeat("a", 64), "UPPER.example/a"} {
		if _, err := New("t", "/w", Options{Image: image}); err != nil {
			t.Errorf("%s: %v", image, err)
		}
	}
}

// TestCheck: whoever makes a spec by hand is told what is wrong with it before
// anything is rendered.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"hash":          {func(s *Spec) { s.Image = "other" }, "spec_hash is"},
		"no hash":       {func(s *Spec) { s.SpecHash = "" }, "spec_hash is"},
		"workspace":     {func(s *Spec) { s.Mounts = s.Mounts[1:] }, "the working tree is not mounted at /workspace"},
		"read-only":     {func(s *Spec) { s.Mounts[0].Mode = ReadOnly }, "the working tree is not mounted at /workspace"},
		"second rw":     {func(s *Spec) { s.Mounts[1].Mode = ReadWrite }, "is mounted writable and is not the working tree"},
		"mode":          {func(s *Spec) { s.Mounts[1].Mode = "rw,suid" }, "the mode of the mount at /repo is not known"},
		"target":        {func(s *Spec) { s.Mounts[1].Target = "repo" }, "sandbox path must be absolute: repo"},
		"target comma":  {func(s *Spec) { s.Mounts[1].Target = "/r,rw" }, "sandbox path cannot be mounted"},
		"target root":   {func(s *Spec) { s.Mounts[1].Target = "/" }, "over the root of the container"},
		"targets":       {func(s *Spec) { s.Mounts[2].Target = "/repo" }, "two mounts have the target /repo"},
		"capability":    {func(s *Spec) { s.CapDrop = []string{"--privileged"} }, "no such capability"},
		"capabilities":  {func(s *Spec) { s.CapDrop = []string{"ALL", "ALL"} }, "dropped twice"},
		"unconfined":    {func(s *Spec) { s.SecurityOpt = []string{"seccomp=unconfined"} }, "takes a protection away"},
		"no privileges": {func(s *Spec) { s.SecurityOpt = []string{"no-new-privileges:false"} }, "takes a protection away"},
		"privileges 0":  {func(s *Spec) { s.SecurityOpt = []string{"no-new-privileges=0"} }, "takes a protection away"},
		"privileges f":  {func(s *Spec) { s.SecurityOpt = []string{"no-new-privileges:F"} }, "takes a protection away"},
		"many pids":     {func(s *Spec) { s.Resources.PIDs = 1 << 40 }, "pids is no number of processes"},
		"long image":    {func(s *Spec) { s.Image = strings.Repeat("a", maxImage+1) }, "not the name of an image"},
		"label":         {func(s *Spec) { s.SecurityOpt = []string{"label:disable"} }, "takes a protection away"},
		"empty option":  {func(s *Spec) { s.SecurityOpt = []string{""} }, "invalid security option"},
		"provenance":    {func(s *Spec) { s.Provenance = "running" }, "provenance is not that of a declared spec"},
		"no task":       {func(s *Spec) { s.Environment = nil }, "no environment variable names the task"},
	} {
		s := good(t)
		c.change(&s)
		refused(t, name, s.Check(), c.want)
		if argv, err := DockerArgv(s, ""); err == nil {
			t.Errorf("%s: rendered %q", name, argv)
		}
		for _, render := range []func(Spec, Execution) (Rendered, error){DockerRun, PodmanArgv, BwrapArgv} {
			if x, err := render(s, Execution{User: "1:1"}); err == nil {
				t.Errorf("%s: rendered %q", name, x.Argv)
			}
		}
	}
	_, err := New("", "w", Options{Image: "-"})
	f := fault.As(err)
	if len(f.Diagnostics) < 3 || !strings.Contains(f.Message, "the first: the task has no id") {
		t.Errorf("not all was found: %+v", f)
	}
	if !slices.ContainsFunc(f.Diagnostics, func(d fault.Diagnostic) bool { return d.Summary == "sandbox path must be absolute: w" }) {
		t.Errorf("%+v", f.Diagnostics)
	}
}
