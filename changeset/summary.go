package changeset

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// SummaryOptions tune Summary.
type SummaryOptions struct {
	Color bool
	// Paths is how many paths of each resource are listed; 0 = 40, negative = all.
	Paths int
}

// Summary writes for a person what the sets change, resource by resource: counts,
// paths with their flags (the flagged first), what is ignored, what is not
// covered, what drifted, and which changes need a decision. All text from a
// sandbox is escaped. Counts come from CountLines, flags from Annotate.
func Summary(w io.Writer, sets []*Set, opts SummaryOptions) error {
	if opts.Paths == 0 {
		opts.Paths = 40
	}
	out := bufio.NewWriter(w)
	p := summary{out, opts}
	for i, s := range sets {
		if i > 0 {
			p.printf("\n")
		}
		p.set(s)
	}
	return out.Flush()
}

type summary struct {
	w    *bufio.Writer
	opts SummaryOptions
}

func (p summary) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

func (p summary) paint(color, text string) string {
	if !p.opts.Color || text == "" {
		return text
	}
	return color + text + ansiReset
}

func (p summary) set(s *Set) {
	p.printf("%s  %s\n", p.paint(ansiBold, Escape(s.Resource)), Escape(s.Root))
	implied := impliedFolders(s)
	var shown []Change
	for _, c := range Order(s.Changes) {
		if isDir(&c) && implied[c.Path] && len(c.Flags) == 0 && !(c.Before != nil && c.After != nil) {
			continue
		}
		shown = append(shown, c)
	}
	if len(s.Changes) == 0 {
		p.printf("  nothing changed\n")
	} else {
		p.printf("  %s\n", tally(s, shown))
	}
	limit := len(shown)
	if p.opts.Paths > 0 {
		limit = min(limit, p.opts.Paths)
	}
	width := 0
	for i := range limit {
		width = max(width, min(48, utf8.RuneCountInString(label(&shown[i]))))
	}
	for i := range limit {
		p.change(&shown[i], width)
	}
	if rest := len(shown) - limit; rest > 0 {
		p.printf("  ... and %s\n", count(rest, "more path"))
	}
	p.remainder(s)
}

func (p summary) change(c *Change, width int) {
	line := fmt.Sprintf("  %s  %s  %s", p.letter(c), pad(label(c), width), p.counts(c))
	if flags := p.flags(c); flags != "" {
		line += "  " + flags
	}
	p.printf("%s\n", strings.TrimRight(line, " "))
	for _, f := range c.Flags {
		if why := c.Why[f]; why != "" && (f.Blocking() || f == FlagSecret || f == FlagLinkOutside) {
			p.printf("       %s: %s\n", f, Escape(why))
		}
	}
}

// label is the path as a person reads it: folders with a slash, renames with an
// arrow, links with what they say.
func label(c *Change) string {
	text := Quote(c.Path)
	if isDir(c) {
		text += "/"
	}
	if c.Op == Renamed {
		text = Quote(c.From) + " -> " + text
	}
	if c.After != nil && c.After.Kind == Symlink {
		text += " => " + Quote(c.After.Link)
	}
	return text
}

func (p summary) letter(c *Change) string {
	switch {
	case c.Op == Created:
		return p.paint(ansiGreen, "A")
	case c.Op == Deleted:
		return p.paint(ansiRed, "D")
	case c.Op == Renamed:
		return "R"
	case hasKindChange(c):
		return "T"
	}
	return "M"
}

func (p summary) counts(c *Change) string {
	switch {
	case isDir(c):
		return ""
	case c.Binary:
		return "binary, " + sizes(fileSide(c.Before), fileSide(c.After))
	case c.Added == 0 && c.Removed == 0:
		if c.Before != nil && c.After != nil && c.Before.Kind == c.After.Kind && c.Before.Mode != c.After.Mode && c.After.Kind != Symlink {
			return fmt.Sprintf("mode %04o -> %04o", c.Before.Mode, c.After.Mode)
		}
		return ""
	}
	var parts []string
	if c.Added > 0 {
		parts = append(parts, p.paint(ansiGreen, "+"+itoa(c.Added)))
	}
	if c.Removed > 0 {
		parts = append(parts, p.paint(ansiRed, "-"+itoa(c.Removed)))
	}
	return strings.Join(parts, " ")
}

func fileSide(e *Entry) *Entry {
	if e == nil || e.Kind != File {
		return nil
	}
	return e
}

func (p summary) flags(c *Change) string {
	var parts []string
	for _, f := range c.Flags {
		text := string(f)
		if f.Blocking() {
			text = "!" + text
		}
		parts = append(parts, p.paint(ansiWarn, "["+text+"]"))
	}
	return strings.Join(parts, " ")
}

// tally is the line of totals: paths by operation, then lines.
func tally(s *Set, shown []Change) string {
	var made, changed, gone, moved, added, removed int
	for i := range shown {
		switch shown[i].Op {
		case Created:
			made++
		case Modified:
			changed++
		case Deleted:
			gone++
		case Renamed:
			moved++
		}
	}
	for i := range s.Changes {
		added += s.Changes[i].Added
		removed += s.Changes[i].Removed
	}
	var parts []string
	for _, x := range []struct {
		n    int
		what string
	}{{made, "created"}, {changed, "modified"}, {gone, "deleted"}, {moved, "renamed"}} {
		if x.n > 0 {
			parts = append(parts, itoa(x.n)+" "+x.what)
		}
	}
	return fmt.Sprintf("%s (+%d -%d)", strings.Join(parts, ", "), added, removed)
}

// remainder writes what stands behind the changes.
func (p summary) remainder(s *Set) {
	if s.IgnoredPaths > 0 {
		p.printf("  ignored: %s in the sandbox (--ignored takes them along)\n", stay(s.IgnoredPaths))
	}
	p.list("not covered", len(s.Skipped), func(i int) string {
		return Quote(s.Skipped[i].Path) + " (" + Escape(s.Skipped[i].Reason) + ")"
	})
	p.list("changed underneath meanwhile, not part of this", len(s.Drift), func(i int) string { return Quote(s.Drift[i]) })
	for _, n := range s.Notices {
		p.printf("  note: %s\n", Escape(n))
	}
	if n := len(s.Blocked()); n > 0 {
		var flags []string
		for _, f := range Flags() {
			if f.Blocking() && slices.ContainsFunc(s.Changes, func(c Change) bool { return slices.Contains(c.Flags, f) }) {
				flags = append(flags, string(f))
			}
		}
		verb := "need"
		if n == 1 {
			verb = "needs"
		}
		p.printf("  %s\n", p.paint(ansiWarn, fmt.Sprintf("%s %s your decision before an apply: %s", count(n, "change"), verb, strings.Join(flags, ", "))))
	}
}

func stay(n int) string {
	if n == 1 {
		return "1 path stays"
	}
	return itoa(n) + " paths stay"
}

// listed is how many names of a list the summary shows.
const listed = 5

func (p summary) list(what string, n int, at func(int) string) {
	if n == 0 {
		return
	}
	p.printf("  %s: ", what)
	for i := range min(n, listed) {
		if i > 0 {
			p.printf(", ")
		}
		p.printf("%s", at(i))
	}
	if n > listed {
		p.printf(" and %d more", n-listed)
	}
	p.printf("\n")
}
