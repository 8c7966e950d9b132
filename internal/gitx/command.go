package gitx

import (
	"slices"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// realCommands may run on the real git directory: none of them reads filters,
// attributes or drivers, or contents of files in the work tree.
var realCommands = map[string]bool{
	"check-ref-format": true, "for-each-ref": true, "reflog": true,
	"rev-parse": true, "show-ref": true, "symbolic-ref": true, "update-ref": true,
	"worktree": true,
}

// brief commands change references or the list of worktrees. They are never
// interrupted (see ownGroup).
var brief = map[string]bool{"reflog": true, "update-ref": true, "worktree": true}

// plainCommands may run in a Plain view.
var plainCommands = map[string]bool{
	"cat-file": true, "check-attr": true, "check-ignore": true, "checkout-index": true,
	"commit-tree": true, "diff-files": true, "diff-index": true, "diff-tree": true,
	"fsck": true, "hash-object": true, "index-pack": true, "ls-files": true, "ls-tree": true,
	"merge-base": true, "merge-tree": true, "pack-objects": true,
	"read-tree": true, "rev-list": true, "rev-parse": true, "unpack-objects": true, "update-index": true,
	"write-tree": true,
}

// argv checks that the command may run in this view and that data cannot be
// taken for options.
func (r *Repo) argv(opts Opts, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, fault.New(fault.Internal, "run git", "no command")
	}
	allowed := realCommands
	if r.plain {
		allowed = plainCommands
	}
	if opts.person {
		allowed = map[string]bool{"config": true}
	}
	if !allowed[args[0]] {
		return nil, fault.New(fault.Internal, "run git", "%q may not run %s", args[0], map[bool]string{true: "in a plain view", false: "on a real git directory"}[r.plain])
	}
	argv := append([]string{"--no-pager", "--literal-pathspecs"}, args...)
	for _, v := range opts.Values {
		if err := CheckValue(v); err != nil {
			return nil, err
		}
		argv = append(argv, v)
	}
	if len(opts.Paths) > 0 {
		argv = append(argv, "--")
		for _, p := range opts.Paths {
			if p == "" || strings.Contains(p, "\x00") {
				return nil, fault.New(fault.Invalid, "run git "+args[0], "%q is not a path", p)
			}
			argv = append(argv, p)
		}
	}
	return argv, nil
}

// CheckValue refuses what git could take for an option, or that would break its
// line-based input (V33).
func CheckValue(v string) error {
	if v == "" || v[0] == '-' || strings.ContainsAny(v, "\x00\n\r") {
		return fault.New(fault.Invalid, "run git", "%q cannot name a revision or reference", v)
	}
	return nil
}

func (r *Repo) env(opts Opts) ([]string, error) {
	env := baseEnv(r.git.binary)
	if opts.person {
		env = slices.DeleteFunc(env, func(kv string) bool {
			return strings.HasPrefix(kv, "GIT_CONFIG_") || strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "XDG_")
		})
		env = append(env, r.git.personEnv()...)
	} else {
		env = append(env, settingsEnv(hardening, r.extraSettings(opts))...)
	}
	env = append(env, "GIT_DIR="+r.gitDir)
	if r.workTree != "" && r.plain {
		env = append(env, "GIT_WORK_TREE="+r.workTree)
	}
	if r.index != "" {
		env = append(env, "GIT_INDEX_FILE="+r.index)
	}
	if r.objects != "" {
		env = append(env, "GIT_OBJECT_DIRECTORY="+r.objects)
	}
	if len(r.alternates) > 0 {
		quoted := make([]string, len(r.alternates))
		for i, a := range r.alternates {
			quoted[i] = quoteAlternate(a)
		}
		env = append(env, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+strings.Join(quoted, ":"))
	}
	if r.shallow != "" {
		env = append(env, "GIT_SHALLOW_FILE="+r.shallow)
	}
	for _, kv := range opts.Env {
		name, _, _ := strings.Cut(kv, "=")
		if !allowedEnv[name] || strings.Contains(kv, "\x00") {
			return nil, fault.New(fault.Internal, "run git", "variable %q may not be set", name)
		}
		env = append(env, kv)
	}
	return env, nil
}

// extraSettings are the settings of this view and this command. safe.directory
// names exactly this repository, for git processes that git starts (C90).
func (r *Repo) extraSettings(opts Opts) []setting {
	s := slices.Clone(r.settings)
	s = append(s, setting{"safe.directory", ""}, setting{"safe.directory", r.loc.GitDir})
	if r.loc.WorkTree != "" {
		s = append(s, setting{"safe.directory", r.loc.WorkTree})
	}
	if opts.Durable {
		s = append(s, setting{"core.fsync", "all"}, setting{"core.fsyncMethod", "fsync"})
	} else {
		s = append(s, setting{"core.fsync", "none"})
	}
	return s
}
