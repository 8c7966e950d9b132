package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// world is a home, a project and an environment on disk.
type world struct {
	home, project string
	env           map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), env: map[string]string{}}
	for _, d := range []string{w.home, w.project, filepath.Join(w.home, ".config", "ambit")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (w *world) user(t *testing.T, text string) {
	t.Helper()
	w.write(t, filepath.Join(w.home, ".config", "ambit", "config.yaml"), text)
}

func (w *world) own(t *testing.T, text string) {
	t.Helper()
	w.write(t, filepath.Join(w.project, ProjectFile), text)
}

func (w *world) load() (Config, []fault.Diagnostic, error) {
	return Load(Sources{
		Getenv:  func(k string) (string, bool) { v, ok := w.env[k]; return v, ok },
		HomeDir: w.home, Roots: []string{w.project},
	})
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got, warnings, err := w.load()
	if err != nil || len(warnings) > 0 {
		t.Fatalf("load: %v, %v", err, warnings)
	}
	want := Config{
		StateDir: filepath.Join(w.home, ".local", "state", "ambit"),
		Confine:  "auto", Network: "none", Home: "tools", Strategy: "auto", Dirty: "carry", OnFailure: "stop",
		Timeout: time.Hour, Pager: "less -FRX", TrashMaxBytes: 10 << 30, TrashMaxAge: 30 * 24 * time.Hour, Origins: map[string]string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLayersLieOverEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "confine: landlock\nhome: ro\ninclude: [.env]\ntimeout: 20m\npager: most\nstrategy: overlay\n")
	w.own(t, "home: hidden\ninclude: [node_modules]\ntimeout: 10m\n")
	w.env["AMBIT_TIMEOUT"] = "30m"
	w.env["AMBIT_INCLUDE"] = "a,b"
	w.env["AMBIT_ENV"] = "X,Y=z"
	w.env["PAGER"] = "more" // weaker than the file
	got, warnings, err := w.load()
	if err != nil || len(warnings) > 0 {
		t.Fatalf("load: %v, %v", err, warnings)
	}
	if got.Confine != engine.RungLandlock || got.Home != engine.HomeHidden || got.Timeout != 30*time.Minute || got.Pager != "most" || got.Strategy != engine.StrategyOverlay {
		t.Errorf("got %+v", got)
	}
	if !slices.Equal(got.Include, []string{"a", "b"}) || !slices.Equal(got.Env, []string{"X", "Y=z"}) {
		t.Errorf("lists: include %v, env %v", got.Include, got.Env)
	}
	if got.Origins["timeout"] != "AMBIT_TIMEOUT" || !strings.HasSuffix(got.Origins["home"], ProjectFile+":1") {
		t.Errorf("origins: %v", got.Origins)
	}
}

func TestStateDir(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		env  map[string]string
		home string
		want string
		code fault.Code
	}{
		{name: "AMBIT_HOME", env: map[string]string{"AMBIT_HOME": "/a/../b", "XDG_STATE_HOME": "/x"}, home: "/h", want: "/b"},
		{name: "XDG", env: map[string]string{"XDG_STATE_HOME": "/x"}, home: "/h", want: "/x/ambit"},
		{name: "relative XDG is ignored", env: map[string]string{"XDG_STATE_HOME": "x"}, home: "/h", want: "/h/.local/state/ambit"},
		{name: "relative AMBIT_HOME", env: map[string]string{"AMBIT_HOME": "b"}, home: "/h", code: fault.Invalid},
		{name: "nowhere", code: fault.Invalid},
	} {
		c, _, err := Load(Sources{Getenv: func(k string) (string, bool) { v, ok := tt.env[k]; return v, ok }, HomeDir: tt.home})
		if fault.CodeOf(err) != tt.code || err == nil && c.StateDir != tt.want {
			t.Errorf("%s: %q, %v", tt.name, c.StateDir, err)
		}
	}
}

func TestProjectOnlyTightens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, user, project string
		want                func(Config) bool
		warning             string // part of the one warning; "" = none
	}{
		{"network may close", "network: host", "network: none", func(c Config) bool { return c.Network == "none" }, ""},
		{"network may not open", "", "network: host", func(c Config) bool { return c.Network == "none" }, "weaker than none"},
		{"confine may not end", "", "confine: none", func(c Config) bool { return c.Confine == "auto" }, "weaker than auto"},
		{"confine may not fall to landlock", "", "confine: landlock", func(c Config) bool { return c.Confine == "auto" }, "weaker"},
		{"confine may demand native", "", "confine: native", func(c Config) bool { return c.Confine == "native" }, ""},
		{"home may not widen", "", "home: ro", func(c Config) bool { return c.Home == "tools" }, "weaker than tools"},
		{"home may hide", "", "home: hidden", func(c Config) bool { return c.Home == "hidden" }, ""},
		{"strategy where open", "", "strategy: git_worktree", func(c Config) bool { return c.Strategy == "git_worktree" }, ""},
		{"strategy not over the person's", "strategy: overlay", "strategy: git_worktree", func(c Config) bool { return c.Strategy == "overlay" }, "chosen by the person"},
		{"strategy not none", "", "strategy: none", func(c Config) bool { return c.Strategy == "auto" }, "cannot switch isolation off"},
		{"timeout shorter", "", "timeout: 5m", func(c Config) bool { return c.Timeout == 5*time.Minute }, ""},
		{"timeout not longer", "", "timeout: 5h", func(c Config) bool { return c.Timeout == time.Hour }, "longer than"},
		{"on_failure stop", "on_failure: continue", "on_failure: stop", func(c Config) bool { return c.OnFailure == "stop" }, ""},
		{"on_failure not continue", "", "on_failure: continue", func(c Config) bool { return c.OnFailure == "stop" }, "weaker than stop"},
		{"include adds", "include: [.env]", "include: [node_modules]", func(c Config) bool { return slices.Equal(c.Include, []string{".env", "node_modules"}) }, ""},
		{"env is the person's", "", "env: [AWS_SECRET_ACCESS_KEY]", func(c Config) bool { return len(c.Env) == 0 }, "cannot be set by a project"},
		{"pager is the person's", "", "pager: touch /tmp/x", func(c Config) bool { return c.Pager == "less -FRX" }, "cannot be set by a project"},
		{"unknown keys warn", "", "setup: []", func(Config) bool { return true }, `unknown key "setup"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.user(t, tt.user)
			w.own(t, tt.project)
			c, warnings, err := w.load()
			if err != nil {
				t.Fatal(err)
			}
			if !tt.want(c) {
				t.Errorf("got %+v", c)
			}
			switch {
			case tt.warning == "" && len(warnings) > 0:
				t.Errorf("warned: %v", warnings)
			case tt.warning != "" && (len(warnings) != 1 || !strings.Contains(warnings[0].String(), tt.warning)):
				t.Errorf("warnings %v, want one with %q", warnings, tt.warning)
			case tt.warning != "" && warnings[0].Line != 1:
				t.Errorf("line %d, want 1", warnings[0].Line)
			}
		})
	}
}

func TestMistakesAreAllNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user(t, "confin: native\nnetwork: everything\nconfine: docker\ninclude: {a: b}\ntimeout: fast\nnetwork: none\nhome:\n")
	w.env["AMBIT_STRATEGY"] = "magic"
	_, _, err := w.load()
	if !fault.Is(err, fault.Invalid) {
		t.Fatalf("err = %v", err)
	}
	var got []string
	for _, d := range fault.As(err).Diagnostics {
		d.File = filepath.Base(d.File)
		got = append(got, d.String()+" / "+d.Hint)
	}
	want := []string{
		`config.yaml:1:1: error: unknown key "confin" / did you mean confine?`,
		`config.yaml:2:10: error: network: "everything" is not known / use one of: none, host`,
		`config.yaml:3:10: error: confine: docker is not supported by this version / use one of: auto, native, landlock, none`,
		`config.yaml:4:10: error: include: a list is needed / `,
		`config.yaml:5:10: error: timeout: "fast" is not a duration; write it like 90s, 10m or 1h30m / `,
		`config.yaml:6:1: error: network was set before, in line 2 / keep one of the two`,
		`config.yaml:7:6: error: home: one value is needed / `,
		`environment variable AMBIT_STRATEGY: error: strategy: "magic" is not known / use one of: auto, overlay, git_worktree, copy_on_write, filesystem_copy, none`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNotYAML(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text, want string
		line             int
	}{
		{"broken", "a: [1,\nb: 2", "not YAML", 3},
		{"two documents", "home: ro\n---\nhome: ro\n", "second document", 2},
		{"a list", "- a\n", "not a list of keys", 1},
		{"unknown anchor", "home: *x\n", "unknown anchor", 1},
		{"control characters", "home: \"\x01\"", "not YAML", 0},
	} {
		w := newWorld(t)
		w.user(t, tt.text)
		_, _, err := w.load()
		ds := fault.As(err)
		if ds == nil || len(ds.Diagnostics) != 1 || !strings.Contains(ds.Diagnostics[0].Summary, tt.want) || ds.Diagnostics[0].Line != tt.line {
			t.Errorf("%s: %v %+v", tt.name, err, ds.Diagnostics)
		}
	}
	for _, empty := range []string{"", "# only a comment\n", "null\n", "---\n"} {
		w := newWorld(t)
		w.user(t, empty)
		if _, _, err := w.load(); err != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

func TestFilesThatAreNoFiles(t *testing.T) {
	t.Parallel()
	t.Run("link in a project", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.write(t, filepath.Join(w.home, "elsewhere"), "home: hidden\n")
		if err := os.Symlink(filepath.Join(w.home, "elsewhere"), filepath.Join(w.project, ProjectFile)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.load(); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "is a link") {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("fifo does not block", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		if err := syscall.Mkfifo(filepath.Join(w.project, ProjectFile), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.load(); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		if err := os.Mkdir(filepath.Join(w.project, ProjectFile), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.load(); !fault.Is(err, fault.Invalid) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("too large", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.own(t, strings.Repeat("#\n", maxFile/2+1))
		if _, _, err := w.load(); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "larger") {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("link of the person's own is followed", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.write(t, filepath.Join(w.home, "dotfiles"), "home: hidden\n")
		if err := os.Symlink(filepath.Join(w.home, "dotfiles"), filepath.Join(w.home, ".config", "ambit", "config.yaml")); err != nil {
			t.Fatal(err)
		}
		if c, _, err := w.load(); err != nil || c.Home != "hidden" {
			t.Errorf("%v, %v", c.Home, err)
		}
	})
}

func TestKeysAreComplete(t *testing.T) {
	t.Parallel()
	for _, k := range keys() {
		if k.get == nil || k.set == nil || k.env == "" {
			t.Errorf("%s lacks its access or its variable", k.name)
		}
		c := defaults()
		if values := k.get(&c); !k.list && len(values) != 1 {
			t.Errorf("%s: default %v", k.name, values)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("home: ro\n")
	f.Add("include: [a, b]\nenv:\n- X\n")
	f.Add("a: &x [*x]\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, project := range []bool{false, true} {
			c := defaults()
			parse(&c, "f", []byte(text), project)
			if project && (c.Network != "none" || c.Confine == "none" || c.Strategy == "none") {
				t.Fatalf("a project loosened: %+v", c)
			}
		}
	})
}

func TestDocumentNamesEveryKey(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys() {
		row := ""
		for line := range strings.Lines(string(raw)) {
			if strings.HasPrefix(line, "| `"+k.name+"` |") {
				row = line
			}
		}
		if !strings.Contains(row, "`"+k.env+"`") || (k.project == nil) != strings.Contains(row, "| nothing |") {
			t.Errorf("docs/configuration.md does not say what %s is: %q", k.name, row)
		}
		for _, v := range k.values {
			if !strings.Contains(row, "`"+v+"`") {
				t.Errorf("docs/configuration.md does not name %s of %s", v, k.name)
			}
		}
	}
}
