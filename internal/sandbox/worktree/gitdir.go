package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

// ownSettings are added to the sandbox's copy of the configuration, where the
// last value of a setting counts: it is a repository with a work tree around it,
// and nothing of git's own runs in the background.
const ownSettings = "\n[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"

// configLimit bounds a configuration file; git's own are a few KiB.
const configLimit = 4 << 20

// gitDir makes the sandbox's git directory: the real one's configuration, ignore
// rules, attributes and hooks as they are, all references as they are now,
// objects borrowed. HEAD comes last of all.
func (f *filling) gitDir(ctx context.Context) error {
	common, err := fsop.OpenRoot(f.req.Resource.Git.CommonDir)
	if err != nil {
		return err
	}
	defer common.Close() //nolint:errcheck // nothing is pending in a directory handle
	for _, d := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info"} {
		if err := f.tree.MkdirAll(gitName+"/"+d, 0o755); err != nil {
			return err
		}
	}
	config, err := fsop.ReadFile(common, "config", configLimit)
	if err != nil && !notThere(err) {
		return err
	}
	if err := f.put("config", string(config)+ownSettings); err != nil {
		return err
	}
	for _, name := range []string{"info/attributes", "info/exclude", "shallow"} {
		data, err := fsop.ReadFile(common, name, configLimit)
		if notThere(err) {
			continue
		}
		if err != nil {
			return err
		}
		if err := f.put(name, string(data)); err != nil {
			return err
		}
	}
	if err := f.hooks(ctx, common); err != nil {
		return err
	}
	if err := f.packedRefs(); err != nil {
		return err
	}
	return f.borrow()
}

func (f *filling) put(name, data string) error {
	return fsop.WriteFileAtomic(f.tree, gitName+"/"+name, []byte(data), 0o644)
}

// hooks copies the person's hooks: what a commit inside goes through is what a
// commit of theirs would.
func (f *filling) hooks(ctx context.Context, common *fsop.Dir) error {
	info, err := common.Stat("hooks")
	if notThere(err) || err == nil && info.Kind != fsop.KindDir {
		return nil
	}
	if err != nil {
		return err
	}
	opts := fsop.TreeOptions{CopyOptions: fsop.CopyOptions{DropSetuid: true}, SkipUnreadable: true}
	opts.Exclude = func(path string, info fsop.Info) bool {
		return info.Kind != fsop.KindFile || strings.HasSuffix(path, ".sample")
	}
	_, err = fsop.CopyTree(ctx, common, "hooks", f.tree, gitName+"/hooks", opts)
	return err
}

// packedRefs freezes the references; ambit's own stay out of sight.
func (f *filling) packedRefs() error {
	skip := map[string]bool{}
	for _, r := range f.refs {
		if strings.HasPrefix(r.Name, "refs/ambit/") || r.Name == f.out.Branch {
			skip[r.Name] = true
			continue
		}
		if strings.HasPrefix(f.out.Branch, r.Name+"/") {
			return fault.New(fault.Conflict, "", "the branch %s is in the way: the sandbox works on %s", short(r.Name), short(f.out.Branch)).
				WithHint("rename it: git branch -m %s %s-old", short(r.Name), short(r.Name))
		}
		if r.Target != "" {
			parent, _ := fsop.SplitRel(gitName + "/" + r.Name)
			if err := f.tree.MkdirAll(parent, 0o755); err != nil {
				return err
			}
			if err := f.put(r.Name, "ref: "+r.Target+"\n"); err != nil {
				return err
			}
		}
	}
	var b strings.Builder
	keep := true
	for line := range strings.Lines(string(f.out.Refs)) {
		if !strings.HasPrefix(line, "^") && !strings.HasPrefix(line, "#") { // a peeled tag follows its tag
			_, name, _ := strings.Cut(strings.TrimSpace(line), " ")
			keep = !skip[name]
		}
		if keep || strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return f.put("packed-refs", b.String())
}

// borrow names the real objects as alternates: by where they will be mounted in
// the git directory, or by their own path where nothing is mounted.
func (f *filling) borrow() error {
	dirs, err := objectDirs(filepath.Join(f.req.Resource.Git.CommonDir, "objects"))
	if err != nil {
		return err
	}
	var b strings.Builder
	for i, d := range dirs {
		if !f.req.Confined {
			if strings.ContainsAny(d, "\n\r") || strings.HasPrefix(d, "#") || strings.HasPrefix(d, "\"") {
				return fault.New(fault.Unsupported, "", "git cannot borrow objects from %q", d).WithHint("use copy_on_write")
			}
			b.WriteString(d + "\n")
			continue
		}
		if err := f.tree.Mkdir(gitName+"/"+objectsMount(i), 0o755); err != nil {
			return err
		}
		b.WriteString("../" + objectsMount(i) + "\n")
	}
	return f.put("objects/info/alternates", b.String())
}

// objectDirs lists an object directory and those it borrows from itself, all the
// way down; git follows five levels. The person's own repository is read here.
func objectDirs(objects string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	var follow func(dir string, depth int) error
	follow = func(dir string, depth int) error {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || seen[real] || depth > 5 {
			if depth == 0 && err != nil {
				return fault.Wrap(fault.NotFound, "find objects", err)
			}
			return nil // git, too, does without alternates that are not there
		}
		seen[real] = true
		out = append(out, real)
		data, err := os.ReadFile(filepath.Join(real, "info", "alternates"))
		if notThere(err) {
			return nil
		}
		if err != nil {
			return fault.Wrap(fault.Denied, "read alternates", err)
		}
		for line := range strings.Lines(string(data)) {
			line = strings.TrimRight(line, "\r\n")
			if line == "" || line[0] == '#' {
				continue
			}
			if !filepath.IsAbs(line) {
				line = filepath.Join(real, line)
			}
			if err := follow(line, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return out, follow(objects, 0)
}
