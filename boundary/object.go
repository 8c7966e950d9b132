package boundary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// member is one key of a JSON object with its value: an object, a list, or what
// encoding/json makes of the rest.
type member struct {
	key   string
	value any
	taken bool
}

type (
	members []member
	values  []any
)

// maxNesting is deeper than any spec.
const maxNesting = 8

// readJSON reads one JSON value and keeps the order of keys and those that are there
// twice, both of which encoding/json loses.
func readJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err == nil {
		return nil, fmt.Errorf("something follows the object at byte %d", d.InputOffset())
	} else if rest := bytes.TrimSpace(text[d.InputOffset():]); len(rest) > 0 {
		return nil, err
	}
	return v, nil
}

func readValue(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if depth == maxNesting {
		return nil, fmt.Errorf("it is nested more than %d levels deep", maxNesting)
	}
	var object members
	list := values{}
	for d.More() {
		key := ""
		if delim == '{' {
			t, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ = t.(string) // the decoder lets no other key pass
		}
		v, err := readValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		if delim == '{' {
			object = append(object, member{key: key, value: v})
		} else {
			list = append(list, v)
		}
	}
	if _, err := d.Token(); err != nil { // the closing bracket
		return nil, err
	}
	if delim == '{' {
		return object, nil
	}
	return list, nil
}

// object is a JSON object that is taken apart key by key.
type object struct {
	f       *findings
	name    string
	members members
	missing bool // there is no object, which has been said
}

func (f *findings) object(name string, value any) *object {
	o := &object{f: f, name: name}
	var ok bool
	if o.members, ok = value.(members); !ok {
		o.missing = true
		if value != nil || name == "the spec" {
			f.add("a spec is what ambit boundary spec prints", "%s is not an object", name)
		}
		return o
	}
	seen := map[string]bool{}
	for _, m := range o.members {
		if seen[m.key] {
			f.add("say it once", "%s is there twice in %s", m.key, name)
		}
		seen[m.key] = true
	}
	return o
}

// take returns a value that has to be there; nil if it is not, or is null.
func (o *object) take(key string) any {
	for i := range o.members {
		if m := &o.members[i]; m.key == key {
			m.taken = true
			if m.value == nil {
				o.wrong(key, "null")
			}
			return m.value
		}
	}
	if !o.missing {
		o.f.add("nothing that is left out is filled in; a spec is what ambit boundary spec prints", "%s lacks %s", o.name, key)
	}
	return nil
}

func (o *object) wrong(key, what string) {
	o.f.add("a spec is what ambit boundary spec prints", "%s in %s cannot be %s", key, o.name, what)
}

func taken[T any](o *object, key string) T {
	v := o.take(key)
	t, ok := v.(T)
	if !ok && v != nil {
		o.wrong(key, kind(v))
	}
	return t
}

func (o *object) text(key string) string { return taken[string](o, key) }
func (o *object) truth(key string) bool  { return taken[bool](o, key) }
func (o *object) list(key string) values { return taken[values](o, key) }

func (o *object) number(key string) int {
	n := taken[json.Number](o, key)
	v, err := strconv.ParseInt(string(n), 10, 32)
	if err != nil && n != "" {
		o.wrong(key, string(n))
	}
	return int(v)
}

func (o *object) texts(key string) []string {
	list := o.list(key)
	out := make([]string, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			o.wrong(key, "a list with "+kind(v))
			break
		}
		out = append(out, s)
	}
	return out
}

// pass passes over a key that may be there, with this value.
func (o *object) pass(key string, want any) {
	for i := range o.members {
		if m := &o.members[i]; m.key == key {
			m.taken = true
			if m.value != want {
				o.f.add("it is the answer of a command that failed; a spec is what ambit boundary spec prints when it succeeds", "%s is not %v", key, want)
			}
		}
	}
}

// end refuses what nobody took.
func (o *object) end() {
	for _, m := range o.members {
		if !m.taken {
			o.f.add("leave it out, or mend its spelling", "%s holds %q, which nobody knows", o.name, m.key)
		}
	}
}

// kind names a JSON value's kind.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case values:
		return "a list"
	case members:
		return "an object"
	}
	return "that"
}
