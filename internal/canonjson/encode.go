package canonjson

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deeply values may be nested. It keeps hostile data from
// exhausting the stack; encoding/json draws the same line at 10,000.
const MaxDepth = 1000

// Member is one key of an Object with its value.
type Member struct {
	Key   string
	Value any
}

// Object is a JSON object as a list of members, in any order. It costs less than
// a map and is what hashes over many small objects are built from.
type Object []Member

// Appender is implemented by types that write themselves in canonical form.
type Appender interface {
	// AppendCanonical appends the value to dst.
	AppendCanonical(dst []byte) ([]byte, error)
}

// Marshal returns v in canonical form. It takes what Append takes.
func Marshal(v any) ([]byte, error) { return Append(nil, v) }

// Append appends v in canonical form to dst. It takes nil, bool, string, int,
// int64, uint64, float64, json.Number, []string, []any, map[string]any, Object,
// and any Appender. Other types, invalid UTF-8, numbers that are not finite,
// repeated keys and nesting beyond MaxDepth are errors.
func Append(dst []byte, v any) ([]byte, error) { return appendValue(dst, v, 0) }

func appendValue(dst []byte, v any, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("value is nested more than %d levels deep", MaxDepth)
	}
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return appendString(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case uint64:
		return strconv.AppendUint(dst, v, 10), nil
	case float64:
		return appendFloat(dst, v)
	case json.Number:
		return appendNumber(dst, v)
	case []string:
		return appendList(dst, len(v), func(dst []byte, i int) ([]byte, error) { return appendString(dst, v[i]) })
	case []any:
		return appendList(dst, len(v), func(dst []byte, i int) ([]byte, error) { return appendValue(dst, v[i], depth+1) })
	case map[string]any:
		o := make(Object, 0, len(v))
		for k, e := range v {
			o = append(o, Member{k, e})
		}
		return appendObject(dst, o, depth)
	case Object:
		return appendObject(dst, v, depth)
	case Appender:
		return v.AppendCanonical(dst)
	}
	return nil, fmt.Errorf("type %T has no canonical form", v)
}

func appendList(dst []byte, n int, elem func([]byte, int) ([]byte, error)) ([]byte, error) {
	dst = append(dst, '[')
	for i := range n {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		var err error
		if dst, err = elem(dst, i); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, o Object, depth int) ([]byte, error) {
	// Bytewise order of UTF-8 is the order of code points.
	byKey := func(a, b Member) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(o, byKey) {
		o = slices.Clone(o)
		slices.SortFunc(o, byKey)
	}
	dst = append(dst, '{')
	for i, m := range o {
		if i > 0 {
			if o[i-1].Key == m.Key {
				return nil, fmt.Errorf("key %q is there twice", m.Key)
			}
			dst = append(dst, ", "...)
		}
		var err error
		if dst, err = appendString(dst, m.Key); err != nil {
			return nil, err
		}
		dst = append(dst, ": "...)
		if dst, err = appendValue(dst, m.Value, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

const hexDigits = "0123456789abcdef"

func appendString(dst []byte, s string) ([]byte, error) {
	dst = append(dst, '"')
	start := 0 // first byte not yet written
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c <= '~' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				return nil, fmt.Errorf("string is not UTF-8 at byte %d", i)
			}
			dst = appendRune(dst, r)
			i += n
		} else {
			dst = appendControl(dst, c)
			i++
		}
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"'), nil
}

// appendControl writes an ASCII character that cannot stand for itself.
func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return appendUnit(dst, uint16(c))
}

func appendRune(dst []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		dst = appendUnit(dst, uint16(0xd800+(r>>10)))
		return appendUnit(dst, uint16(0xdc00+(r&0x3ff)))
	}
	return appendUnit(dst, uint16(r))
}

// appendUnit writes one UTF-16 code unit.
func appendUnit(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

// appendFloat writes a fractional number: positional between 1e-4 and 1e16,
// with an exponent of at least two digits outside.
func appendFloat(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("number %v is not finite", f)
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64), nil
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if !slices.Contains(dst[from:], '.') {
		dst = append(dst, ".0"...)
	}
	return dst, nil
}

// appendNumber writes a number that was read from JSON text: without point and
// exponent it is an integer of any size, otherwise a fractional number.
func appendNumber(dst []byte, n json.Number) ([]byte, error) {
	s := string(n)
	if !json.Valid([]byte(s)) || s == "" || (s[0] != '-' && (s[0] < '0' || s[0] > '9')) {
		return nil, fmt.Errorf("%q is not a number", s)
	}
	if !strings.ContainsAny(s, ".eE") {
		if s == "-0" {
			s = "0" // integers have one zero
		}
		return append(dst, s...), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("number %s is too large", s)
	}
	return appendFloat(dst, f)
}
