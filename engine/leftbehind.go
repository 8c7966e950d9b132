package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ambit-run/ambit/internal/bounded"
)

const (
	refsKept   = 8 << 20 // bytes of the list of references that are looked at
	namesShown = 5       // commits, branches and tags that are named
	nameShown  = 80      // characters of each
)

// refLister prints HEAD and the sandbox's branches, tags and stash; bounded,
// since a step may have made any number.
const refLister = `git rev-parse HEAD && git for-each-ref --count=100000 --format='%(objectname) %(refname)' refs/heads refs/tags refs/stash`

// leftBehind says which commits, branches and tags an apply does not carry. They
// stay in the plan's sandbox, and with it in the trash until that is emptied. ""
// when there are none, or when the step left no repository to ask. commits says
// that the plan's own commits are carried.
func (c *cell) leftBehind(ctx context.Context, i int, commits bool) (string, error) {
	rec := c.plan.Sandboxes[i]
	out := &bounded.Buffer{Max: refsKept}
	exit, _, err := c.gitInside(ctx, i, nil, nil, out, "/bin/sh", "-c", refLister)
	if errors.Is(err, errGitLimit) {
		return rec.Resource.Name + ": git in the sandbox does not come to an end, so nobody can say which commits and branches are not carried", nil
	}
	if err != nil || exit.Code != 0 {
		return "", err
	}
	real := map[string]string{}
	if c.eng.deps.Refs != nil {
		if real, err = c.eng.deps.Refs(ctx, rec.Resource); err != nil {
			return "", err
		}
	}
	held := map[string]bool{}
	var not strings.Builder
	for _, id := range real {
		if !held[id] {
			held[id] = true
			not.WriteString("^" + id + "\n")
		}
	}
	base := rec.ChainBase
	if base == "" {
		base = rec.Base
	}
	if base != "" {
		not.WriteString("^" + base + "\n")
	}
	head, list, _ := strings.Cut(out.String(), "\n")
	if out.Over() { // the last line is cut
		list = list[:strings.LastIndexByte(list, '\n')+1]
	}
	names, tips := newRefs(list, "refs/heads/ambit/"+c.plan.ID, real, held)
	count := 0
	var subjects []string
	if !commits || len(tips) > 0 {
		if commits {
			not.WriteString("^" + head + "\n")
		} else {
			tips = append(tips, head)
		}
		if count, subjects, err = c.subjects(ctx, i, strings.Join(tips, "\n")+"\n"+not.String()); err != nil {
			return "", err
		}
	}
	if count+len(names) == 0 {
		return "", nil
	}
	var what []string
	if count > 0 {
		what = append(what, counted(count, "commit", subjects))
	}
	if len(names) > 0 {
		text := counted(len(names), "branch or tag", names)
		if out.Over() {
			text = "at least " + text
		}
		what = append(what, text)
	}
	return fmt.Sprintf("%s: not carried: %s. The plan keeps them, also in the trash until that is emptied: `ambit exec %s -- git log --all` shows them",
		rec.Resource.Name, strings.Join(what, " and "), c.plan.ID), nil
}

// newRefs picks the references that the real repository does not have: their
// short names, and what they lead to.
func newRefs(list, own string, real map[string]string, held map[string]bool) (names, tips []string) {
	for line := range strings.SplitSeq(strings.TrimSpace(list), "\n") {
		id, name, ok := strings.Cut(line, " ")
		if !ok || name == own || real[name] != "" || (strings.HasPrefix(name, "refs/heads/") && held[id]) {
			continue
		}
		tips = append(tips, id)
		for _, prefix := range []string{"refs/heads/", "refs/tags/", "refs/"} {
			if short, ok := strings.CutPrefix(name, prefix); ok {
				names = append(names, short)
				break
			}
		}
	}
	return names, tips
}

// subjects counts the commits of a range, given as git's --stdin takes it, and
// names the newest.
func (c *cell) subjects(ctx context.Context, i int, revs string) (int, []string, error) {
	count := &bounded.Buffer{Max: 64}
	exit, _, err := c.gitInside(ctx, i, []byte(revs), nil, count, "git", "rev-list", "--count", "--ignore-missing", "--stdin")
	if err != nil || exit.Code != 0 {
		return 0, nil, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(count.String()))
	if err != nil || n == 0 {
		return 0, nil, nil //nolint:nilerr // what answers there is not git: nothing is known
	}
	// Cut by git already, so that one long subject does not hide the others.
	format := fmt.Sprintf("--format=%%<(%d,trunc)%%s", nameShown+2)
	out := &bounded.Buffer{Max: gitSays}
	exit, _, err = c.gitInside(ctx, i, []byte(revs), nil, out, "git", "log", "--topo-order", "--ignore-missing",
		"-n", strconv.Itoa(namesShown), format, "--stdin")
	if err != nil || exit.Code != 0 {
		return n, nil, err
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\n"), "\n") {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return n, lines, nil
}

// counted is "2 commits (a, b)", with the first few names.
func counted(n int, noun string, names []string) string {
	if n != 1 {
		noun = strings.Replace(noun, "branch or tag", "branches or tags", 1)
		if !strings.HasSuffix(noun, "s") {
			noun += "s"
		}
	}
	var shown []string
	for _, name := range names[:min(len(names), namesShown)] {
		shown = append(shown, shorten(name, nameShown))
	}
	if n > namesShown {
		shown = append(shown, "…")
	}
	if len(shown) == 0 {
		return fmt.Sprintf("%d %s", n, noun)
	}
	return fmt.Sprintf("%d %s (%s)", n, noun, strings.Join(shown, ", "))
}

// shorten cuts text to at most n characters, the last of them "…" then.
func shorten(text string, n int) string {
	seen, cut := 0, 0
	for at := range text {
		if seen == n-1 {
			cut = at
		}
		if seen == n {
			return text[:cut] + "…"
		}
		seen++
	}
	return text
}
