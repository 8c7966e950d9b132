package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
)

// terminalOf returns the terminal behind a stream, or nil.
func terminalOf(stream any) *os.File {
	if p, ok := stream.(*printed); ok {
		stream = p.to
	}
	f, ok := stream.(*os.File)
	if !ok || f == nil || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// canAsk reports whether a question would reach a person: both the question's
// way out and the answer's way in are terminals, and nobody asked for JSON.
func (d *deps) canAsk() bool {
	return !d.json && terminalOf(d.stdin) != nil && terminalOf(d.stderr) != nil
}

// style colours text, or not.
type style struct{ on bool }

// styleFor says whether a stream takes colours: a terminal that is not dumb, and
// no NO_COLOR (https://no-color.org: any non-empty value).
func (d *deps) styleFor(w io.Writer) style {
	if terminalOf(w) == nil {
		return style{}
	}
	if v, ok := d.getenv("NO_COLOR"); ok && v != "" {
		return style{}
	}
	v, _ := d.getenv("TERM")
	return style{on: v != "dumb" && v != ""}
}

func (s style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(t string) string   { return s.paint("1", t) }
func (s style) dim(t string) string    { return s.paint("2", t) }
func (s style) red(t string) string    { return s.paint("31", t) }
func (s style) green(t string) string  { return s.paint("32", t) }
func (s style) yellow(t string) string { return s.paint("33", t) }
func (s style) cyan(t string) string   { return s.paint("36", t) }

// columns is the width of the terminal behind w; 80 for anything else.
func columns(w io.Writer) int {
	if f := terminalOf(w); f != nil {
		if c, _, err := term.GetSize(int(f.Fd())); err == nil && c > 0 {
			return c
		}
	}
	return 80
}
