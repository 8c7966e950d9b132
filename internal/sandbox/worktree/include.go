package worktree

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// include copies the ignored files that the request or the project's
// .worktreeinclude names, and lists the rest, which a checkout leaves behind (C32,
// C33). A pattern is one of an ignore file; only what matches and is ignored is
// copied, looked up beneath the resource whatever the pattern says (C38).
func (f *filling) include(ctx context.Context) error {
	ignored, err := f.plain.Ignored(ctx)
	if err != nil {
		return err
	}
	wanted, err := f.wanted(ctx)
	if err != nil {
		return err
	}
	set := newIgnored(ignored)
	var brought []string
	for _, p := range wanted {
		if fsop.CheckRel(p) != nil || !set.has(p) {
			continue
		}
		if _, err := f.tree.Stat(p); err == nil {
			continue // tracked after all, or carried
		}
		info, err := f.live.Stat(p)
		if notThere(err) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Kind != fsop.KindFile && info.Kind != fsop.KindSymlink {
			continue
		}
		if err := f.bring(ctx, p, info); err != nil {
			return err
		}
		brought = append(brought, p)
	}
	f.name(behind(ignored, brought), "ignored paths stay behind (dependencies, build output, .env may be among them; --include brings some along)")
	return f.exclude(brought)
}

// wanted lists untracked files that match a pattern.
func (f *filling) wanted(ctx context.Context) ([]string, error) {
	args := []string{"ls-files", "-z", "--others", "--ignored"}
	if info, err := f.live.Stat(includeFile); err == nil && info.Kind == fsop.KindFile {
		args = append(args, "--exclude-from="+filepath.Join(f.req.Resource.Path, includeFile))
	} else if err == nil {
		return nil, fault.New(fault.Invalid, "", "%s is a %s", includeFile, info.Kind).WithHint("make it a file of patterns, or remove it")
	}
	for _, glob := range f.req.Include {
		if err := checkGlob(glob); err != nil {
			return nil, err
		}
		args = append(args, "--exclude="+glob)
	}
	if len(args) == 4 {
		return nil, nil
	}
	var list []string
	err := f.plain.EachZ(ctx, gitx.Opts{}, func(p string) error {
		list = append(list, p)
		return nil
	}, args...)
	return list, err
}

// checkGlob refuses patterns that cannot name anything below the resource (C38).
func checkGlob(glob string) error {
	if glob == "" || strings.ContainsAny(glob, "\x00\n") || slices.Contains(strings.Split(glob, "/"), "..") {
		return fault.New(fault.Invalid, "", "%q is no pattern for files of the checkout", glob).
			WithHint("patterns are those of .gitignore, relative to the top of the checkout")
	}
	return nil
}

// exclude keeps provisioned files out of git inside by their exact names, also
// where the rule that ignored them does not match what lies there now (C34, C36).
func (f *filling) exclude(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	data, err := fsop.ReadFile(f.tree, gitName+"/info/exclude", configLimit)
	if err != nil && !notThere(err) {
		return err
	}
	text := string(data)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += "# brought along by ambit\n"
	for _, p := range paths {
		if strings.ContainsAny(p, "\n\r") {
			continue // no ignore file can name it; the rule that ignored it still does
		}
		text += "/" + exactPattern(p) + "\n"
	}
	f.name(slices.Clone(paths), "brought along though ignored")
	return f.put("info/exclude", text)
}

// exactPattern writes a path as an ignore pattern that matches nothing else.
func exactPattern(p string) string {
	p = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(p)
	if trimmed := strings.TrimRight(p, " "); trimmed != p {
		p = trimmed + strings.Repeat(`\ `, len(p)-len(trimmed))
	}
	return p
}

// behind lists ignored paths of which nothing was brought along.
func behind(ignored, brought []string) []string {
	var list []string
	for _, p := range ignored {
		has := func(b string) bool { return b == p || strings.HasSuffix(p, "/") && strings.HasPrefix(b, p) }
		if !slices.ContainsFunc(brought, has) {
			list = append(list, p)
		}
	}
	return list
}

// ignoredSet answers whether a path is ignored, by git's list.
type ignoredSet map[string]bool

func newIgnored(list []string) ignoredSet {
	s := ignoredSet{}
	for _, p := range list {
		s[p] = true
	}
	return s
}

func (s ignoredSet) has(path string) bool {
	if s[path] {
		return true
	}
	for dir, _ := fsop.SplitRel(path); dir != "."; dir, _ = fsop.SplitRel(dir) {
		if s[dir+"/"] {
			return true
		}
	}
	return false
}
