package changeset

import (
	"strings"
)

// IsGitControl reports whether a path takes part in deciding what git runs: it
// lies in a .git folder at any depth (also by the other spellings under which
// Windows and macOS find one), or is a file that git or a hook runner obeys.
func IsGitControl(path string) bool { return gitControl(path) != "" }

// gitControl returns the reason for IsGitControl, or "".
func gitControl(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	for i, part := range parts {
		n := fold(part)
		switch {
		case n == ".git" || n == "git~1":
			if part == ".git" {
				return "inside a .git folder"
			}
			return Quote(part) + " is another spelling of .git"
		case n == ".gitmodules" || isShort(n, "gitmod~", "gi7eba~"):
			return "names submodules that git fetches"
		case n == ".gitattributes" || isShort(n, "gitatt~", "gi7d29~"):
			return "chooses the filters that git runs"
		case n == ".husky" || n == ".githooks":
			return "holds git hooks"
		case i == len(parts)-1 && hookRunners[n]:
			return "says what git hooks run"
		}
	}
	return ""
}

// isShort reports whether name is a short (8.3) name that NTFS gives .gitmodules
// or .gitattributes: the plain one with 1 to 4, or the hashed fallback with any
// digit; git's own list (path.c, is_ntfs_dot_str).
func isShort(name, plain, hashed string) bool {
	if n, ok := strings.CutPrefix(name, plain); ok {
		return len(n) == 1 && n[0] >= '1' && n[0] <= '4'
	}
	n, ok := strings.CutPrefix(name, hashed)
	return ok && len(n) == 1 && n[0] >= '0' && n[0] <= '9'
}

var hookRunners = set(
	".pre-commit-config.yaml", ".pre-commit-config.yml", "lefthook.yml", "lefthook.yaml",
	".lefthook.yml", ".lefthook.yaml", "lefthook-local.yml", ".huskyrc", ".huskyrc.json",
	".huskyrc.js", ".overcommit.yml", ".lfsconfig",
)

// fold reduces a name to what a file system that ignores case, trailing dots and
// spaces, alternate streams (NTFS) or invisible code points (HFS+) finds by it.
func fold(name string) string {
	if i := strings.IndexByte(name, ':'); i > 0 {
		name = name[:i]
	}
	name = strings.TrimRight(name, ". ")
	return strings.ToLower(strings.Map(func(r rune) rune {
		if ignoredByHFS(r) {
			return -1
		}
		return r
	}, name))
}

// ignoredByHFS: the code points HFS+ leaves out when it compares names (git's utf8.c).
func ignoredByHFS(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff
}

// embeddedRepositories finds folders that the set turns into what git accepts as
// a bare repository without any .git in its path: HEAD, objects and refs side by
// side. Entering one makes git obey the configuration inside.
func embeddedRepositories(s *Set) []string {
	const head, objects, refs = 1, 2, 4
	have := map[string]int{}
	var order []string
	for i := range s.Changes {
		c := &s.Changes[i]
		if c.After == nil {
			continue
		}
		parts := strings.Split(c.Path, "/")
		for j, part := range parts {
			bit := 0
			switch strings.ToLower(part) {
			case "head":
				if j == len(parts)-1 && c.After.Kind != Dir {
					bit = head
				}
			case "objects":
				bit = objects
			case "refs":
				bit = refs
			}
			if bit == 0 {
				continue
			}
			dir := strings.Join(parts[:j], "/")
			if have[dir] |= bit; have[dir] == head|objects|refs {
				order = append(order, dir)
				have[dir] |= 8
			}
		}
	}
	return order
}

// toolControl says which tool outside of the sandbox runs something, or grants
// something, because of a file at this path; "" if none is known.
func toolControl(path string) string {
	parts := strings.Split(strings.ToLower(path), "/")
	base := parts[len(parts)-1]
	if who, ok := controlFiles[base]; ok {
		return who
	}
	for i := range len(parts) - 1 {
		rest := strings.Join(parts[i+1:], "/")
		for _, rule := range controlFolders {
			if parts[i] == rule.dir && (rule.rest == "" || rest == rule.rest || strings.HasPrefix(rest, rule.rest+"/")) {
				return rule.who
			}
		}
	}
	return ""
}

var controlFiles = map[string]string{
	".envrc":              "direnv runs it on entering the folder",
	".mcp.json":           "agents start the servers it names",
	".ambit.yaml":         "ambit runs the commands it declares",
	".devcontainer.json":  "editors build and start what it says",
	".mise.toml":          "mise runs its hooks on entering the folder",
	"mise.toml":           "mise runs its hooks on entering the folder",
	".autoenv":            "autoenv runs it on entering the folder",
	".exrc":               "vi runs it",
	".nvim.lua":           "neovim runs it",
	".dir-locals.el":      "emacs evaluates it",
	".sublime-project":    "the editor runs its build systems",
	".npmrc":              "npm obeys it, its registry and its scripts' shell",
	".yarnrc.yml":         "yarn loads the plugins it names",
	".pnpmfile.cjs":       "pnpm runs it",
	".bazelrc":            "bazel obeys it",
	"conductor.json":      "an agent runner runs its scripts",
	".aider.conf.yml":     "aider obeys it",
	"opencode.json":       "opencode starts the servers it names",
	".worktreeinclude":    "chooses which ignored files enter a sandbox",
	".tool-versions":      "version managers install what it names",
	"sitecustomize.py":    "python runs it at every start",
	".pythonstartup":      "python runs it",
	".gdbinit":            "gdb runs it",
	".lldbinit":           "lldb runs it",
	".rustup-toolchain":   "rustup chooses the compiler by it",
	"rust-toolchain.toml": "rustup chooses the compiler by it",
}

var controlFolders = []struct{ dir, rest, who string }{
	{".vscode", "settings.json", "the editor obeys it"},
	{".vscode", "tasks.json", "the editor runs its tasks"},
	{".vscode", "launch.json", "the editor starts what it names"},
	{".vscode", "mcp.json", "the editor starts the servers it names"},
	{".idea", "runconfigurations", "the editor starts what it names"},
	{".idea", "workspace.xml", "the editor obeys it"},
	{".devcontainer", "", "editors build and start what it says"},
	{".claude", "settings.json", "claude runs its hooks and grants its permissions"},
	{".claude", "settings.local.json", "claude runs its hooks and grants its permissions"},
	{".claude", "hooks", "claude runs it"},
	{".codex", "", "codex obeys it"},
	{".cursor", "mcp.json", "cursor starts the servers it names"},
	{".cursor", "worktrees.json", "cursor runs its commands"},
	{".cursor", "hooks.json", "cursor runs its hooks"},
	{".opencode", "", "opencode loads it"},
	{".gemini", "settings.json", "the agent starts the servers it names"},
	{".cargo", "config.toml", "cargo runs the wrappers it names"},
	{".cargo", "config", "cargo runs the wrappers it names"},
}

// set makes a set of names.
func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}
