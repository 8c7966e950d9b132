package gitx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/ambit-run/ambit/fault"
)

// Config says where git and the person's settings are found.
type Config struct {
	// Path is the person's $PATH. Only its absolute entries are searched, so a
	// program in the current directory is never taken for git.
	Path string
	// Home and XDGConfigHome are the person's home and $XDG_CONFIG_HOME (empty =
	// Home/.config). Their git configuration is read for the identity and for a
	// fixed list of harmless settings, never used by a command.
	Home          string
	XDGConfigHome string
	// Dir is an absolute folder for the configuration-free git directories that
	// Plain uses. It is created, mode 0700, when first needed; a few files, shared
	// by all repositories and processes.
	Dir string
}

// Git is the git program of this machine. Looking for it is put off until it is
// needed, so New cannot fail.
type Git struct {
	cfg Config

	once    sync.Once
	binary  string
	version Version
	err     error
}

// New returns the git program that cfg leads to.
func New(cfg Config) *Git { return &Git{cfg: cfg} }

// Version is a git release.
type Version struct{ Major, Minor, Patch int }

// Floor is the oldest git that ambit supports: Debian 12's.
var Floor = Version{2, 39, 0}

// String renders "2.39.5".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Less reports whether v is older than o.
func (v Version) Less(o Version) bool {
	if v.Major != o.Major {
		return v.Major < o.Major
	}
	if v.Minor != o.Minor {
		return v.Minor < o.Minor
	}
	return v.Patch < o.Patch
}

// Version returns the program's version. Errors: unavailable when there is no
// git, unsupported when it is older than Floor.
func (g *Git) Version(ctx context.Context) (Version, error) {
	if err := g.find(ctx); err != nil {
		return Version{}, err
	}
	return g.version, nil
}

// Binary returns the absolute path of the program, with Version's errors.
func (g *Git) Binary(ctx context.Context) (string, error) {
	if err := g.find(ctx); err != nil {
		return "", err
	}
	return g.binary, nil
}

// find locates the program and checks its version, once. A first attempt that
// was cancelled does not count.
func (g *Git) find(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return fault.Wrap(fault.CodeOf(err), "find git", err)
	}
	g.once.Do(func() {
		g.binary, g.err = lookPath(g.cfg.Path)
		if g.err != nil {
			return
		}
		// Not bound to ctx: the answer is kept for every later caller.
		g.version, g.err = readVersion(context.WithoutCancel(ctx), g.binary)
	})
	return g.err
}

func lookPath(path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		p := filepath.Join(dir, "git")
		info, err := os.Stat(p)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", fault.New(fault.Unavailable, "find git", "there is no git program in PATH").
		WithHint("install git %s or newer (Debian and Ubuntu: apt-get install git), or add its folder to PATH", Floor)
}

func readVersion(ctx context.Context, binary string) (Version, error) {
	cmd := exec.CommandContext(ctx, binary, "version")
	cmd.Env = baseEnv(binary)
	cmd.Dir = "/"
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return Version{}, fault.Wrap(fault.Unavailable, "ask "+binary+" for its version", err).
			WithHint("check that this git works, or put another one first in PATH")
	}
	v, ok := parseVersion(string(out))
	if !ok {
		return Version{}, fault.New(fault.Unsupported, "find git", "cannot read the version of %s from %q", binary, strings.TrimSpace(string(out)))
	}
	if v.Less(Floor) {
		return v, fault.New(fault.Unsupported, "find git", "%s is git %s; ambit needs %s or newer", binary, v, Floor).
			WithHint("install a newer git, or put its folder first in PATH")
	}
	return v, nil
}

// parseVersion reads "git version 2.39.5 (Apple Git-154)" and its relatives.
func parseVersion(s string) (Version, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(s), "git version ")
	if !ok {
		return Version{}, false
	}
	rest, _, _ = strings.Cut(rest, " ")
	var n [3]int
	parts := strings.Split(rest, ".")
	for i := range n {
		if i >= len(parts) {
			break
		}
		digits := parts[i]
		if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			digits = digits[:end]
		}
		v, err := strconv.Atoi(digits)
		if err != nil {
			if i < 2 {
				return Version{}, false
			}
			break
		}
		n[i] = v
	}
	return Version{n[0], n[1], n[2]}, true
}
