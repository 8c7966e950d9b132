package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// Sources says where Load looks. Environment and file system come in here.
type Sources struct {
	Getenv func(string) (string, bool)
	// HomeDir is the person's home; "" = unknown.
	HomeDir string
	// Roots are the roots of the resources whose .ambit.yaml counts; may be empty.
	Roots []string
}

// Load reads the three layers. Warnings are findings that do not stop anything.
// An error has code invalid and lists every error in every layer as a
// diagnostic, or denied or unavailable when a file that is there cannot be read.
func Load(src Sources) (Config, []fault.Diagnostic, error) {
	c := defaults()
	var found []fault.Diagnostic

	state, err := stateDir(src)
	if err != nil {
		return c, nil, err
	}
	c.StateDir = state
	if v, ok := src.Getenv("PAGER"); ok {
		c.Pager = v
	}

	if path := userFile(src); path != "" {
		if err := readLayer(&c, path, false, &found); err != nil {
			return c, nil, err
		}
	}
	for _, root := range src.Roots {
		if err := readLayer(&c, filepath.Join(root, ProjectFile), true, &found); err != nil {
			return c, nil, err
		}
	}
	readEnv(&c, src.Getenv, &found)

	if fault.HasErrors(found) {
		return c, nil, &fault.Error{
			Code: fault.Invalid, Op: "read configuration", Message: "the configuration has errors",
			Hint: "correct the lines named above", Diagnostics: found,
		}
	}
	return c, found, nil
}

// ProjectFile is the name of a project's file at the root of its resource.
const ProjectFile = ".ambit.yaml"

// userFile is the person's own file, or "" where no place is known for it.
func userFile(src Sources) string {
	if v, _ := src.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(v) { // the XDG specification: relative paths are ignored
		return filepath.Join(v, "ambit", "config.yaml")
	}
	if src.HomeDir == "" {
		return ""
	}
	return filepath.Join(src.HomeDir, ".config", "ambit", "config.yaml")
}

func stateDir(src Sources) (string, error) {
	if v, ok := src.Getenv("AMBIT_HOME"); ok && v != "" {
		if !filepath.IsAbs(v) {
			return "", fault.New(fault.Invalid, "read configuration", "AMBIT_HOME is %q, which is not an absolute path", v).
				WithHint("set AMBIT_HOME to an absolute path, or unset it")
		}
		return filepath.Clean(v), nil
	}
	if v, _ := src.Getenv("XDG_STATE_HOME"); filepath.IsAbs(v) {
		return filepath.Join(v, "ambit"), nil
	}
	if src.HomeDir == "" {
		return "", fault.New(fault.Invalid, "read configuration", "no place for the state folder: neither AMBIT_HOME, XDG_STATE_HOME nor HOME is set").
			WithHint("set AMBIT_HOME to an absolute path")
	}
	return filepath.Join(src.HomeDir, ".local", "state", "ambit"), nil
}

func readEnv(c *Config, getenv func(string) (string, bool), found *[]fault.Diagnostic) {
	for _, k := range keys() {
		v, ok := getenv(k.env)
		if !ok || v == "" && k.name != "pager" {
			continue
		}
		values := []string{v}
		if k.list {
			values = slices.DeleteFunc(strings.Split(v, ","), func(s string) bool { return s == "" })
		}
		if summary, hint := k.check(values); summary != "" {
			*found = append(*found, fault.Diagnostic{Severity: fault.SeverityError, File: "environment variable " + k.env, Summary: summary, Hint: hint})
			continue
		}
		if err := k.set(c, values); err == nil {
			c.Origins[k.name] = k.env
		}
	}
}

// Environ returns a lookup over an environment in the form of os.Environ.
func Environ(environ []string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, kv := range slices.Backward(environ) {
			if k, v, ok := strings.Cut(kv, "="); ok && k == name {
				return v, true
			}
		}
		return "", false
	}
}
