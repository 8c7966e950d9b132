package ticket

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/ambit-run/ambit/fault"
)

// source is the text of a ticket with its lines. Offsets count from the first
// byte after a byte order mark.
type source struct {
	given []byte // as it was given
	text  []byte // without byte order mark, every lone CR as LF
	lines []int  // offset of the first byte of each line
	body  int    // offset of the first byte after front matter
}

// original returns the body as it was given and its offset in text, which is
// negative where a byte order mark belongs to it.
func (s *source) original() (body []byte, offset int) {
	mark := len(s.given) - len(s.text)
	if s.body == 0 {
		return s.given, -mark
	}
	return s.given[mark+s.body:], s.body
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// newSource checks size and encoding. It returns nil if the file cannot be used,
// with the reason in rep. The bytes given are not changed.
func newSource(data []byte, limit int, rep *report) *source {
	if len(data) > limit {
		rep.err(0, 0, finding{
			summary: "the ticket is larger than " + size(limit), // data may be its beginning only
			hint:    "split it into several tickets and connect them with depends_on",
		})
		return nil
	}
	if n := bytes.Count(data, []byte{'\n'}) + bytes.Count(data, []byte{'\r'}); n > MaxLines {
		// Only a file close to the limit has to be looked at twice.
		if n -= bytes.Count(data, []byte("\r\n")); n > MaxLines {
			rep.err(0, 0, finding{
				summary: fmt.Sprintf("the ticket has %d lines; the limit is %d", n, MaxLines),
				hint:    "split it into several tickets and connect them with depends_on",
			})
			return nil
		}
	}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		rep.err(1, 1, finding{summary: "the ticket is UTF-16", hint: "save it as UTF-8"})
		return nil
	}
	s := &source{given: data, text: bytes.TrimPrefix(data, byteOrderMark)}
	if bad := firstInvalid(s.text); bad >= 0 {
		s.splitLines()
		line, col := s.at(bad)
		rep.err(line, col, finding{summary: fmt.Sprintf("byte %#02x is not UTF-8", s.text[bad]), hint: "save the file as UTF-8"})
		return nil
	}
	if bad := bytes.IndexByte(s.text, 0); bad >= 0 {
		s.splitLines()
		line, col := s.at(bad)
		rep.err(line, col, finding{
			summary: "the ticket contains a NUL byte",
			detail:  "text has none; a command could not be given one",
			hint:    "remove it; if there is one in every second place, the file is UTF-16: save it as UTF-8",
		})
		return nil
	}
	s.loneReturns()
	s.splitLines()
	return s
}

// size renders a limit in bytes.
func size(n int) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return count(n, "byte")
}

func firstInvalid(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// loneReturns makes line ends out of carriage returns that stand alone, as
// CommonMark does. Offsets stay what they are.
func (s *source) loneReturns() {
	copied := false
	for i := 0; i < len(s.text); i++ {
		j := bytes.IndexByte(s.text[i:], '\r')
		if j < 0 {
			return
		}
		i += j
		if i+1 < len(s.text) && s.text[i+1] == '\n' {
			continue
		}
		if !copied {
			s.text, copied = bytes.Clone(s.text), true
		}
		s.text[i] = '\n'
	}
}

func (s *source) splitLines() {
	s.lines = make([]int, 1, bytes.Count(s.text, []byte{'\n'})+1)
	for i := 0; i < len(s.text); {
		j := bytes.IndexByte(s.text[i:], '\n')
		if j < 0 {
			break
		}
		i += j + 1
		s.lines = append(s.lines, i)
	}
}

// at returns line and column, 1-based, of an offset.
func (s *source) at(offset int) (line, column int) {
	line = sort.Search(len(s.lines), func(i int) bool { return s.lines[i] > offset })
	return line, offset - s.lines[line-1] + 1
}

// line returns the text of a 1-based line without its end.
func (s *source) line(n int) []byte {
	end := len(s.text)
	if n < len(s.lines) {
		end = s.lines[n] - 1
	}
	return bytes.TrimSuffix(s.text[s.lines[n-1]:end], []byte{'\r'})
}

// plain returns bytes of the source as text with line ends as LF.
func plain(b []byte) string {
	if bytes.IndexByte(b, '\r') >= 0 {
		b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	}
	return string(b)
}

// refused is the finding for a grammar this version does not have.
func refused(name string) finding {
	return finding{
		code:    fault.Unsupported,
		summary: fmt.Sprintf("grammar %q is not supported by this version", name),
		hint:    "known are " + strings.Join(Grammars(), ", "),
	}
}
