package gittest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// marker returns a shell command that leaves name in the markers folder and then
// does what the place it is put in expects.
func (r *Repo) marker(name, then string) string {
	return fmt.Sprintf("touch '%s/%s'; %s", r.Markers, name, then)
}

// script writes an executable that leaves a marker and returns its path.
func (r *Repo) script(name, then string) string {
	r.tb.Helper()
	p := filepath.Join(filepath.Dir(r.Markers), "evil-"+name)
	if err := os.WriteFile(p, []byte("#!/bin/sh\n"+r.marker(name, then)+"\n"), 0o755); err != nil {
		r.tb.Fatal(err)
	}
	return p
}

// HostileConfig is configuration by which a repository makes git run programs.
func (r *Repo) HostileConfig() string {
	r.tb.Helper()
	var b strings.Builder
	section := func(name string, kv ...string) {
		fmt.Fprintf(&b, "[%s]\n", name)
		for i := 0; i < len(kv); i += 2 {
			fmt.Fprintf(&b, "\t%s = %q\n", kv[i], kv[i+1])
		}
	}
	hooks := filepath.Join(filepath.Dir(r.Markers), "evil-hooks")
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		r.tb.Fatal(err)
	}
	for _, h := range hookNames {
		if err := os.WriteFile(filepath.Join(hooks, h), []byte("#!/bin/sh\n"+r.marker("hook-"+h, "exit 0")+"\n"), 0o755); err != nil {
			r.tb.Fatal(err)
		}
	}
	section("core",
		"fsmonitor", r.script("fsmonitor", "exit 0"), "hooksPath", hooks,
		"sshCommand", r.script("ssh", "exit 1"), "editor", r.script("editor", "exit 0"),
		"pager", r.script("pager", "cat"), "askPass", r.script("askpass", "exit 1"),
		"gitProxy", r.script("proxy", "exit 1"), "alternateRefsCommand", r.script("altrefs", "exit 0"))
	section("diff", "external", r.script("diff-external", "exit 0"))
	section(`filter "evil"`, "clean", r.script("clean", "cat"), "smudge", r.script("smudge", "cat"), "required", "true")
	section(`filter "evilproc"`, "process", r.script("process", "exit 1"), "clean", r.script("clean2", "cat"), "smudge", r.script("smudge2", "cat"))
	section(`diff "evil"`, "textconv", r.script("textconv", "cat $1"), "command", r.script("diff-command", "exit 0"))
	section(`merge "evil"`, "driver", r.script("merge-driver", "exit 0")+" %A %O %B")
	section("merge", "default", "evil")
	section("gpg", "program", r.script("gpg", "exit 1"))
	section("commit", "gpgSign", "true")
	section("log", "showSignature", "true")
	section("gc", "auto", "1", "recentObjectsHook", r.script("recent-objects", "exit 0"))
	section("maintenance", "auto", "true")
	section("credential", "helper", "!"+r.script("credential", "exit 1"))
	section("sequence", "editor", r.script("sequence-editor", "exit 0"))
	section("interactive", "diffFilter", r.script("diff-filter", "cat"))
	section("pager", "diff-tree", "true", "cat-file", "true", "rev-list", "true", "config", "true", "for-each-ref", "true")
	for _, name := range []string{"ls-files", "status", "checkout-index", "rev-parse", "diff-files"} {
		section("alias", name, "!"+r.script("alias-"+name, "exit 0"))
	}
	section(`remote "origin"`, "url", "ext::"+r.script("ext", "exit 1"), "fetch", "+refs/heads/*:refs/remotes/origin/*",
		"uploadpack", r.script("uploadpack", "exit 1"), "vcs", "evil", "promisor", "true", "partialclonefilter", "blob:none")
	section("protocol", "allow", "always")
	section("trace2", "eventTarget", filepath.Join(r.Markers, "trace2"))
	section("uploadpack", "packObjectsHook", r.script("pack-objects-hook", "exit 1"))
	return b.String()
}

var hookNames = []string{
	"applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout",
	"post-commit", "post-index-change", "post-merge", "post-rewrite", "post-update",
	"pre-applypatch", "pre-auto-gc", "pre-commit", "pre-merge-commit", "prepare-commit-msg",
	"pre-push", "pre-rebase", "pre-receive", "push-to-checkout", "reference-transaction",
	"sendemail-validate", "update",
}

// HostileAttributes makes every file use the drivers that HostileConfig defines.
const HostileAttributes = "* filter=evil diff=evil merge=evil\n*.proc filter=evilproc\n"

// MakeHostile plants the configuration in the repository's own file, in an
// included one that lies in the work tree (V32), and hooks in their usual place.
func (r *Repo) MakeHostile() *Repo {
	r.tb.Helper()
	common := r.Git("rev-parse", "--path-format=absolute", "--git-common-dir")
	evil := r.HostileConfig()
	r.Write("included.cfg", evil)
	f, err := os.OpenFile(filepath.Join(common, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		r.tb.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // a test's file
	if _, err := fmt.Fprintf(f, "%s[include]\n\tpath = %s\n[includeIf \"gitdir:/**\"]\n\tpath = %s\n", evil, filepath.Join(r.Dir, "included.cfg"), filepath.Join(r.Dir, "included.cfg")); err != nil {
		r.tb.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(common, "info"), 0o755); err != nil {
		r.tb.Fatal(err)
	}
	for _, h := range hookNames {
		if err := os.WriteFile(filepath.Join(common, "hooks", h), []byte("#!/bin/sh\n"+r.marker("own-hook-"+h, "exit 0")+"\n"), 0o755); err != nil {
			r.tb.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(common, "info", "attributes"), []byte(HostileAttributes), 0o644); err != nil {
		r.tb.Fatal(err)
	}
	r.Write(".gitattributes", HostileAttributes)
	return r
}

// Ran lists the markers that hostile programs have left.
func (r *Repo) Ran() []string {
	r.tb.Helper()
	entries, err := os.ReadDir(r.Markers)
	if err != nil {
		r.tb.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// ForgetMarkers removes them, after a test has shown that the traps work.
func (r *Repo) ForgetMarkers() {
	r.tb.Helper()
	for _, name := range r.Ran() {
		if err := os.Remove(filepath.Join(r.Markers, name)); err != nil {
			r.tb.Fatal(err)
		}
	}
}
