package sqlite

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// JSON has no byte strings: its encoder turns what is not UTF-8 into U+FFFD. A
// file name, an argument or an environment variable may be any bytes, so before
// encoding each such byte becomes the code point byteRune+byte, out of the last
// private-use block, and back after decoding. Code points of that block that a
// string really holds are escaped the same way, byte by byte, so the mapping is
// exact.
const byteRune = 0x10FF00

func escape(s string) string {
	plain := true
	for _, r := range s {
		if r == utf8.RuneError || r >= byteRune {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r >= byteRune || (r == utf8.RuneError && n == 1) {
			for i := range n {
				b.WriteRune(byteRune + rune(s[i]))
			}
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func unescape(s string) string {
	if !strings.Contains(s, "\xf4\x8f\xbc") && !strings.Contains(s, "\xf4\x8f\xbd") &&
		!strings.Contains(s, "\xf4\x8f\xbe") && !strings.Contains(s, "\xf4\x8f\xbf") {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r >= byteRune {
			b.WriteByte(byte(r - byteRune))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// encodeLeaf renders v as JSON without losing a byte of its strings.
func encodeLeaf(v any) (string, error) {
	b, err := json.Marshal(mapStrings(reflect.ValueOf(v), escape).Interface())
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(b), nil
}

// decodeLeaf is the inverse; v is a pointer to a zero value.
func decodeLeaf(doc string, v any) error {
	if err := json.Unmarshal([]byte(doc), v); err != nil {
		return fmt.Errorf("decode %T: %w", v, err)
	}
	e := reflect.ValueOf(v).Elem()
	e.Set(mapStrings(e, unescape))
	return nil
}

// mapStrings returns a deep copy of v with f applied to every string in it,
// map keys included. Unexported fields and byte slices are copied as they are.
func mapStrings(v reflect.Value, f func(string) string) reflect.Value {
	if !v.IsValid() {
		return v
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.String:
		out.SetString(f(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(mapStrings(v.Elem(), f))
			out.Set(p)
		}
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(mapStrings(v.Elem(), f))
		}
	case reflect.Slice:
		if !v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8 {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(mapStrings(v.Index(i), f))
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			out.Index(i).Set(mapStrings(v.Index(i), f))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for it := v.MapRange(); it.Next(); {
				out.SetMapIndex(mapStrings(it.Key(), f), mapStrings(it.Value(), f))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(mapStrings(v.Field(i), f))
			}
		}
	default: // numbers and booleans hold no strings
	}
	return out
}
