package changeset

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// StatOptions tune Stat.
type StatOptions struct {
	Width int // columns; 0 = 80
	Color bool
}

// Stat writes one line per change with its counts and a bar, and a total, in the
// shape of git's --stat. Counts come from CountLines.
func Stat(w io.Writer, s *Set, opts StatOptions) error {
	if opts.Width == 0 {
		opts.Width = 80
	}
	implied := impliedFolders(s)
	type row struct{ name, count string }
	var rows []row
	most, widest := 0, 0
	for i := range s.Changes {
		c := &s.Changes[i]
		most = max(most, c.Added+c.Removed)
	}
	digits := len(itoa(most))
	var added, removed, files int
	for i := range s.Changes {
		c := &s.Changes[i]
		if isDir(c) && implied[c.Path] {
			continue
		}
		name := Quote(c.Path)
		if c.Op == Renamed {
			name = Quote(c.From) + " => " + name
		}
		r := row{name: name, count: fmt.Sprintf("%*d", digits, c.Added+c.Removed)}
		switch {
		case isDir(c):
			r.name += "/"
			r.count = "folder " + string(c.Op)
		case c.Binary:
			r.count = "Bin " + statSizes(c)
		case c.Added+c.Removed == 0 && !hasKindChange(c):
			r.count = fmt.Sprintf("%*d", digits, 0)
		}
		if !isDir(c) {
			files++
		}
		added += c.Added
		removed += c.Removed
		rows = append(rows, r)
		widest = max(widest, utf8.RuneCountInString(r.name))
	}
	nameWidth := min(widest, max(16, opts.Width-digits-20))
	barWidth := max(8, opts.Width-nameWidth-digits-6)
	out := bufio.NewWriter(w)
	k := 0
	for i := range s.Changes {
		c := &s.Changes[i]
		if isDir(c) && implied[c.Path] {
			continue
		}
		r := rows[k]
		k++
		bar := ""
		if !c.Binary && c.Added+c.Removed > 0 {
			bar = " " + statBar(c, most, barWidth, opts.Color)
		}
		fmt.Fprintf(out, " %s | %s%s\n", pad(shorten(r.name, nameWidth), nameWidth), r.count, bar)
	}
	fmt.Fprintf(out, " %s\n", totals(files, added, removed))
	return out.Flush()
}

func hasKindChange(c *Change) bool {
	return c.Before != nil && c.After != nil && c.Before.Kind != c.After.Kind
}

func statSizes(c *Change) string {
	var b, a int64
	if c.Before != nil {
		b = c.Before.Size
	}
	if c.After != nil {
		a = c.After.Size
	}
	return fmt.Sprintf("%d -> %d bytes", b, a)
}

// statBar draws plus and minus signs, scaled down where the largest change would not fit.
func statBar(c *Change, most, width int, color bool) string {
	plus, minus := c.Added, c.Removed
	if most > width {
		scale := func(n int) int {
			if n == 0 {
				return 0
			}
			return max(1, n*width/most)
		}
		plus, minus = scale(plus), scale(minus)
	}
	p, m := strings.Repeat("+", plus), strings.Repeat("-", minus)
	if color {
		if p != "" {
			p = ansiGreen + p + ansiReset
		}
		if m != "" {
			m = ansiRed + m + ansiReset
		}
	}
	return p + m
}

func totals(files, added, removed int) string {
	text := count(files, "file") + " changed"
	if added > 0 || removed == 0 {
		text += ", " + count(added, "insertion") + "(+)"
	}
	if removed > 0 || added == 0 {
		text += ", " + count(removed, "deletion") + "(-)"
	}
	return text
}

// count renders a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return itoa(n) + " " + noun + "s"
}

// shorten cuts a name from the left, which keeps its most telling part.
func shorten(name string, width int) string {
	n := utf8.RuneCountInString(name)
	if n <= width {
		return name
	}
	runes := []rune(name)
	return "..." + string(runes[n-width+3:])
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
