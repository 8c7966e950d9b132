package cli

import (
	"bytes"
)

// maxLine bounds what is kept of an unfinished line, in bytes; the rest of a
// longer one is cut into lines of that size.
const maxLine = 16 << 10

// lineCleaner cuts a stream into lines and hands each on, made safe to show.
type lineCleaner struct {
	line func(string)
	rest []byte
}

func (l *lineCleaner) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			break
		}
		l.rest = append(l.rest, p[:i]...)
		l.flushLine()
		p = p[i+1:]
	}
	for len(l.rest)+len(p) > maxLine {
		k := max(0, maxLine-len(l.rest))
		l.rest = append(l.rest, p[:k]...)
		l.flushLine()
		p = p[k:]
	}
	l.rest = append(l.rest, p...)
	return n, nil
}

func (l *lineCleaner) flushLine() {
	l.line(cleanOutput(string(l.rest)))
	l.rest = l.rest[:0]
}

// flush hands on what is left without a newline.
func (l *lineCleaner) flush() {
	if len(l.rest) > 0 {
		l.flushLine()
	}
}

// partial is the unfinished last line, made safe to show.
func (l *lineCleaner) partial() string { return cleanOutput(string(l.rest)) }

// tail keeps the last lines of a stream.
type tail struct {
	lines []string
	limit int
	lost  int // lines before the kept ones
}

func (t *tail) add(line string) {
	if len(t.lines) == t.limit {
		copy(t.lines, t.lines[1:])
		t.lines = t.lines[:t.limit-1]
		t.lost++
	}
	t.lines = append(t.lines, line)
}
