package canonjson

import (
	"fmt"
	"strconv"
)

// Writer writes one object member by member, without building it first. Keys have
// to come in ascending order, each once; anything else is an error from Close.
type Writer struct {
	dst  []byte
	last string
	any  bool
	err  error
}

// NewObject begins an object at the end of dst.
func NewObject(dst []byte) *Writer { return &Writer{dst: append(dst, '{')} }

// Close ends the object and returns the bytes, or the first error.
func (w *Writer) Close() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	return append(w.dst, '}'), nil
}

func (w *Writer) key(key string) bool {
	if w.err != nil {
		return false
	}
	if w.any {
		if key <= w.last {
			w.err = fmt.Errorf("key %q comes after %q", key, w.last)
			return false
		}
		w.dst = append(w.dst, ", "...)
	}
	w.last, w.any = key, true
	w.string(key)
	if w.err == nil {
		w.dst = append(w.dst, ": "...)
	}
	return w.err == nil
}

func (w *Writer) string(s string) {
	dst, err := appendString(w.dst, s)
	if err != nil {
		w.err = err
		return
	}
	w.dst = dst
}

// String writes a member with a string.
func (w *Writer) String(key, value string) {
	if w.key(key) {
		w.string(value)
	}
}

// Strings writes a member with a list of strings.
func (w *Writer) Strings(key string, values []string) {
	if !w.key(key) {
		return
	}
	w.dst = append(w.dst, '[')
	for i, v := range values {
		if i > 0 {
			w.dst = append(w.dst, ", "...)
		}
		if w.string(v); w.err != nil {
			return
		}
	}
	w.dst = append(w.dst, ']')
}

// Bool writes a member with true or false.
func (w *Writer) Bool(key string, value bool) {
	if w.key(key) {
		w.dst = strconv.AppendBool(w.dst, value)
	}
}

// Int writes a member with an integer.
func (w *Writer) Int(key string, value int) {
	if w.key(key) {
		w.dst = strconv.AppendInt(w.dst, int64(value), 10)
	}
}
