package changeset

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

// DiffOptions tune Unified. The zero value gives a plain patch that git apply takes.
type DiffOptions struct {
	// Context is how many unchanged lines surround a change; 0 = 3, negative = none.
	Context int
	// Escape makes hostile text harmless on a terminal (see Escape) and shortens
	// long lines. The result is for eyes: it is no patch any more.
	Escape bool
	// Color adds ANSI colours; only for a terminal, so together with Escape.
	Color bool
	// Review orders changes as a reviewer reads them (flagged, code, tests, lock
	// files, generated), names flags, and folds lock files and generated ones.
	Review bool
	// Unfold shows the contents that Review would fold.
	Unfold bool
	// Heading names the resource before its changes.
	Heading bool
	// BinaryPatch carries binary contents (git's literal form) instead of naming them.
	BinaryPatch bool
	Limits      Limits
}

// Unified writes the set as a unified diff in a pinned form of git's, whatever
// configuration git has: prefixes a/ and b/, three lines of context, abbreviated
// object ids of ten digits, no copy detection. git apply takes it; what git
// cannot carry (folders, modes beyond the executable bit, extended attributes,
// files above the limits) stands in lines that start with "# ", and a file whose
// contents are left out is written so that git apply refuses it instead of
// applying half. Order is by path bytes unless opts.Review says otherwise.
//
// A content that cannot be read is named in its place, the others still follow,
// and the first such error is returned at the end.
func Unified(ctx context.Context, w io.Writer, set *Set, src Source, opts DiffOptions) error {
	opts.Limits = opts.Limits.withDefaults()
	switch {
	case opts.Context == 0:
		opts.Context = 3
	case opts.Context < 0:
		opts.Context = 0
	}
	d := &differ{w: bufio.NewWriterSize(w, 64<<10), src: src, opts: opts, implied: impliedFolders(set)}
	if opts.Heading {
		d.heading(set)
	}
	changes := set.Changes
	if opts.Review {
		changes = Order(changes)
	}
	for i := range changes {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d.change(&changes[i])
	}
	if err := d.w.Flush(); err != nil {
		return fmt.Errorf("write diff: %w", err)
	}
	return joinErrors(d.errs)
}

// differ writes one set. Write errors stick to the buffered writer until Flush.
type differ struct {
	w       *bufio.Writer
	src     Source
	opts    DiffOptions
	implied map[string]bool
	errs    []error
}

// ANSI attributes of the parts of a diff.
const (
	ansiBold  = "\x1b[1m"
	ansiRed   = "\x1b[31m"
	ansiGreen = "\x1b[32m"
	ansiCyan  = "\x1b[36m"
	ansiWarn  = "\x1b[33m"
	ansiReset = "\x1b[m"
)

func (d *differ) line(color, text string) {
	if d.opts.Color && color != "" {
		d.w.WriteString(color + text + ansiReset + "\n")
		return
	}
	d.w.WriteString(text + "\n")
}

// remark writes a line that git skips. Its text comes quoted or escaped.
func (d *differ) remark(format string, args ...any) {
	d.line(ansiWarn, "# "+fmt.Sprintf(format, args...))
}

func (d *differ) heading(set *Set) {
	d.line(ansiBold, "# "+Escape(set.Resource)+"  "+Escape(set.Root))
}

func (d *differ) change(c *Change) {
	if d.opts.Review {
		for _, f := range c.Flags {
			mark := "flag"
			if f.Blocking() {
				mark = "needs a decision"
			}
			why := ""
			if c.Why[f] != "" {
				why = ": " + Escape(c.Why[f])
			}
			d.remark("%s: %s: %s%s", Quote(c.Path), mark, f, why)
		}
	}
	d.beyondGit(c)
	before, after := c.Before, c.After
	if !hasContents(before) {
		before = nil
	}
	if !hasContents(after) {
		after = nil
	}
	switch {
	case before == nil && after == nil:
	case before != nil && after != nil && before.Kind != after.Kind:
		// git carries a change of kind as a deletion and a creation.
		d.file(c, before, nil)
		d.file(c, nil, after)
	default:
		d.file(c, before, after)
	}
}

// file writes one entry of the diff: header, object ids, contents.
func (d *differ) file(c *Change, before, after *Entry) {
	part := *c
	part.Before, part.After = before, after
	sameMode := before == nil || after == nil || gitMode(before) == gitMode(after)
	if sameContents(&part) {
		if sameMode && c.Op != Renamed {
			return
		}
		d.header(&part)
		return
	}
	if cls := Classify(c.Path); d.opts.Review && !d.opts.Unfold && cls >= ClassLock && len(c.Flags) == countFlag(c, FlagManifest) {
		d.remark("%s: %s, folded: +%d -%d", Quote(c.Path), cls, c.Added, c.Removed)
		d.header(&part)
		d.line("", differLine("Files", &part))
		return
	}
	old, new, tooLarge, err := readSides(&part, d.src, d.opts.Limits.FileBytes)
	if err != nil {
		d.errs = append(d.errs, err)
		d.remark("%s: not shown: %s", Quote(c.Path), Escape(err.Error()))
	}
	if tooLarge {
		d.remark("%s: not shown: larger than the limit of %s (%s)", Quote(c.Path), size(d.opts.Limits.FileBytes), sizes(before, after))
	}
	if err != nil || tooLarge {
		d.header(&part)
		d.line("", differLine("Files", &part))
		return
	}
	if old.binary || new.binary {
		d.binary(&part, old, new)
		return
	}
	a, b := splitLines(old.data), splitLines(new.data)
	groups := hunks(diffLines(a, b), len(a), d.opts.Context)
	n := 0
	for _, h := range groups {
		n += h.a1 - h.a0
		for _, x := range h.diffs {
			n += x.ReplEnd - x.ReplStart
		}
	}
	if n > d.opts.Limits.DiffLines {
		d.remark("%s: not shown: its diff has %d lines, the limit is %d", Quote(c.Path), n, d.opts.Limits.DiffLines)
		d.header(&part)
		d.line("", differLine("Files", &part))
		return
	}
	d.header(&part)
	d.index(&part, old, new, shortOID)
	if len(groups) > 0 {
		d.line(ansiBold, "--- "+sideName(&part, Before))
		d.line(ansiBold, "+++ "+sideName(&part, After))
		d.hunks(groups, a, b)
	}
}

func countFlag(c *Change, f Flag) int {
	for _, have := range c.Flags {
		if have == f {
			return 1
		}
	}
	return 0
}

func sizes(before, after *Entry) string {
	var parts []string
	for _, e := range []*Entry{before, after} {
		if e != nil {
			parts = append(parts, size(e.Size))
		}
	}
	return strings.Join(parts, " -> ")
}
