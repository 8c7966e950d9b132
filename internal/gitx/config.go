package gitx

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// Identity is who a commit is made by.
type Identity struct{ Name, Email string }

// repoConfig is what is read of a repository's configuration, once.
type repoConfig struct {
	format   string // "sha1" or "sha256"
	bare     bool
	inert    []setting
	excludes string // the person's own ignore file; /dev/null when there is none
	identity Identity
}

var boolValues = []string{"true", "false", "yes", "no", "on", "off", "0", "1"}

// inertKeys are the settings that change how git understands files but cannot
// name a program, a path or another file, with the values that are passed on,
// whatever their case. core.sharedrepository takes a mode besides.
var inertKeys = map[string][]string{
	"core.filemode":          boolValues,
	"core.symlinks":          boolValues,
	"core.ignorecase":        boolValues,
	"core.precomposeunicode": boolValues,
	"core.trustctime":        boolValues,
	"core.checkstat":         {"default", "minimal"},
	"core.autocrlf":          append(boolValues, "input"),
	"core.eol":               {"lf", "crlf", "native"},
	"core.sharedrepository":  {"umask", "group", "all", "world", "everybody", "true", "false", "0", "1", "2"},
}

// configPattern selects everything that readConfig understands.
const configPattern = `^(core\.(filemode|symlinks|ignorecase|precomposeunicode|trustctime|checkstat|autocrlf|eol|sharedrepository|bare|excludesfile)|extensions\.objectformat|user\.(name|email))$`

// config reads the repository's settings together with the person's own. Asking
// git for configuration starts nothing, whatever the configuration says.
func (r *Repo) config(ctx context.Context) (*repoConfig, error) {
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	if r.shared.cfg != nil {
		return r.shared.cfg, nil
	}
	out, err := r.run(ctx, Opts{Exits: []int{1}, person: true}, "config", "--null", "--get-regexp", configPattern)
	if err != nil {
		return nil, err
	}
	cfg := &repoConfig{format: "sha1", excludes: r.git.defaultExcludes()}
	for _, rec := range SplitZ(out.Stdout) {
		key, value, has := strings.Cut(rec, "\n")
		if !has {
			value = "true" // a key without "=" is true
		}
		r.git.understand(cfg, key, value)
	}
	if !isRegular(cfg.excludes) {
		cfg.excludes = "/dev/null"
	}
	if cfg.format != "sha1" && cfg.format != "sha256" {
		return nil, fault.New(fault.Unsupported, "read git configuration", "unknown object format %q", cfg.format)
	}
	r.shared.cfg = cfg
	return cfg, nil
}

// understand takes one setting over; later ones win, as in git.
func (g *Git) understand(cfg *repoConfig, key, value string) {
	switch key {
	case "core.bare":
		cfg.bare = truth(value)
	case "extensions.objectformat":
		cfg.format = strings.ToLower(value)
	case "user.name":
		cfg.identity.Name = value
	case "user.email":
		cfg.identity.Email = value
	case "core.excludesfile":
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			value = filepath.Join(g.cfg.Home, rest)
		}
		cfg.excludes = value
	default:
		if inert(key, value) {
			cfg.inert = append(cfg.inert, setting{key, value})
		}
	}
}

// inert reports whether a setting is one that may be passed on.
func inert(key, value string) bool {
	if slices.Contains(inertKeys[key], strings.ToLower(value)) {
		return true
	}
	// A mode, as git writes it: 0 and three octal digits.
	return key == "core.sharedrepository" && len(value) == 4 && value[0] == '0' && strings.Trim(value, "01234567") == ""
}

func truth(v string) bool {
	switch strings.ToLower(v) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

func (g *Git) xdg() string {
	if filepath.IsAbs(g.cfg.XDGConfigHome) {
		return g.cfg.XDGConfigHome
	}
	if g.cfg.Home == "" {
		return "/nonexistent"
	}
	return filepath.Join(g.cfg.Home, ".config")
}

func (g *Git) defaultExcludes() string { return filepath.Join(g.xdg(), "git", "ignore") }

// personEnv lets git find the person's own configuration; only "git config"
// ever runs with it.
func (g *Git) personEnv() []string {
	home := g.cfg.Home
	if home == "" {
		home = "/nonexistent"
	}
	return []string{"HOME=" + home, "XDG_CONFIG_HOME=" + g.xdg()}
}

// Identity returns who the person says they are, from their configuration and
// the repository's. ok is false when name or address is missing.
func (r *Repo) Identity(ctx context.Context) (id Identity, ok bool, err error) {
	cfg, err := r.config(ctx)
	if err != nil {
		return Identity{}, false, err
	}
	id = Identity{cleanIdent(cfg.identity.Name), cleanIdent(cfg.identity.Email)}
	return id, id.Name != "" && id.Email != "", nil
}

// cleanIdent drops what a commit header cannot hold, as git does.
func cleanIdent(s string) string {
	s = strings.Map(func(c rune) rune {
		if c == '<' || c == '>' || c == '\n' || c == '\r' || c == 0 {
			return -1
		}
		return c
	}, s)
	return strings.Trim(s, " \t.,:;\"\\'")
}

// ConvertsLines reports whether a Plain view converts line ends of files that no
// attribute speaks of (core.autocrlf).
func (r *Repo) ConvertsLines() bool {
	on := false
	for _, s := range r.settings {
		if s.key == "core.autocrlf" {
			on = s.value == "input" || truth(s.value)
		}
	}
	return on
}

// TrustsModes reports whether executable bits of files mean anything to a Plain
// view (core.fileMode).
func (r *Repo) TrustsModes() bool {
	on := true
	for _, s := range r.settings {
		if s.key == "core.filemode" {
			on = truth(s.value)
		}
	}
	return on
}

// Format returns the repository's object format, "sha1" or "sha256".
func (r *Repo) Format(ctx context.Context) (string, error) {
	cfg, err := r.config(ctx)
	if err != nil {
		return "", err
	}
	return cfg.format, nil
}

// Bare reports whether the repository says it has no work tree of its own.
func (r *Repo) Bare(ctx context.Context) (bool, error) {
	cfg, err := r.config(ctx)
	if err != nil {
		return false, err
	}
	return cfg.bare, nil
}

func fileCode(err error) fault.Code {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fault.NotFound
	case errors.Is(err, os.ErrPermission):
		return fault.Denied
	case errors.Is(err, os.ErrExist):
		return fault.Exists
	}
	return fault.Internal
}
