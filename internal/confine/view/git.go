package view

import (
	"path"
	"slices"
	"strings"
)

// passedGit are the settings of the person's own git configuration that go along:
// who they are, how git behaves for them. Helpers, signing, hooks, drivers,
// rewritten addresses and includes do not. A name ending in "." passes the section.
var passedGit = []string{
	"user.name", "user.email", "init.defaultbranch", "alias.", "color.", "advice.", "column.", "log.date", "log.abbrevcommit",
	"core.autocrlf", "core.eol", "core.safecrlf", "core.quotepath", "core.abbrev", "core.ignorecase", "core.precomposeunicode",
	"pull.rebase", "pull.ff", "push.default", "push.autosetupremote", "fetch.prune", "rebase.autosquash", "rebase.autostash", "rebase.updaterefs",
	"merge.conflictstyle", "merge.ff", "merge.renames", "diff.algorithm", "diff.renames", "diff.colormoved", "diff.mnemonicprefix", "diff.noprefix", "diff.context",
	"commit.verbose", "commit.cleanup", "branch.sort", "branch.autosetuprebase", "tag.sort", "rerere.enabled", "status.short", "status.branch", "status.showuntrackedfiles",
	"help.autocorrect", "grep.linenumber", "submodule.recurse",
}

// gitPasses reports whether a setting goes along. Names are lower case.
func gitPasses(name string) bool {
	return slices.ContainsFunc(passedGit, func(p string) bool {
		return name == p || strings.HasSuffix(p, ".") && strings.HasPrefix(name, p)
	})
}

// git writes a ~/.gitconfig with the harmless part of the person's own, and their
// excludes where git looks by default.
func (v *viewer) git() {
	xdg := v.host.Getenv("XDG_CONFIG_HOME")
	if !isCleanAbs(xdg) {
		xdg = path.Join(v.home, ".config")
	}
	r := &gitReader{v: v, roots: v.roots()}
	r.file(path.Join(xdg, "git/config"), 0)
	r.file(path.Join(v.home, ".gitconfig"), 0)

	var kept []gitSetting
	excludes := path.Join(xdg, "git/ignore")
	for _, s := range r.settings {
		if name := s.name(); name == "core.excludesfile" {
			excludes = v.expand(s.value)
		} else if gitPasses(name) {
			kept = append(kept, s)
		}
	}
	if v.host.UID() == 0 {
		// A tree of another owner: git inside would refuse it.
		for _, root := range append(r.roots, Workspace) {
			kept = append(kept, gitSetting{section: "safe", key: "directory", value: root})
		}
	}
	ignore, _ := v.host.ReadHead(excludes, 1<<20)
	for _, f := range []struct{ rel, text string }{{".gitconfig", renderGit(kept)}, {".config/git/ignore", string(ignore)}} {
		at := path.Join(v.home, f.rel)
		switch {
		case f.text == "" && v.own:
		case v.own:
			v.add(Op{Kind: KindFile, Target: at, Text: f.text, Mode: 0o644, Private: true, Optional: true})
		case f.rel == ".gitconfig" && v.exists(at):
			// The home shows as it is: ours lies over theirs, read-only.
			v.add(Op{Kind: KindFile, Target: at, Text: f.text, Mode: 0o444, ReadOnly: true})
		}
	}
	if !v.own && v.exists(path.Join(v.home, ".config/git/config")) {
		v.add(Op{Kind: KindMask, Target: path.Join(v.home, ".config/git/config")})
	}
}

// roots lists where the sandboxes' resources are found inside.
func (v *viewer) roots() []string {
	var rs []string
	for _, en := range v.spec.Sandbox {
		if en.Root != "" && !en.ReadOnly {
			rs = append(rs, en.Root)
		}
	}
	return rs
}

// expand resolves a leading ~/ as git does.
func (v *viewer) expand(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		return v.home + "/" + rest // uncleaned: a slash at the end means something
	}
	return p
}
