package boundary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/ambit-run/ambit/fault"
)

// MaxSpecBytes bounds a spec's JSON. The arguments of a program are bounded by
// 2 MiB on Linux, so nothing larger could be carried out.
const MaxSpecBytes = 1 << 20

// Parse reads a spec from JSON, as ambit boundary spec prints it: one object with
// every field of Spec and no other, each once. Nothing that is left out is filled
// in, since a spec without a protection must not look like one that has it. The
// hash must be that of the spec. What ambit's own JSON begins with, ok and
// exit_code, is passed over. Refusals have code Invalid.
func Parse(text []byte) (Spec, error) {
	if len(text) > MaxSpecBytes {
		return Spec{}, fault.New(fault.Invalid, op, "the spec is larger than %d bytes", MaxSpecBytes).WithHint("a spec is what ambit boundary spec prints")
	}
	if !utf8.Valid(text) {
		return Spec{}, fault.New(fault.Invalid, op, "the spec is not UTF-8").WithHint("a spec is what ambit boundary spec prints")
	}
	value, err := readJSON(text)
	if err != nil {
		return Spec{}, fault.New(fault.Invalid, op, "the spec is not JSON").WithCause(err).WithHint("a spec is what ambit boundary spec prints")
	}
	var f findings
	s := readSpec(&f, value)
	if len(f.list) == 0 {
		s.check(&f)
	}
	if len(f.list) == 0 {
		s.checkHash(&f)
	}
	if err := f.err(); err != nil {
		return Spec{}, err
	}
	return s, nil
}

func readSpec(f *findings, value any) Spec {
	o := f.object("the spec", value)
	s := Spec{
		TaskID: o.text("task_id"), Image: o.text("image"), Workdir: o.text("workdir"), ReadOnlyRoot: o.truth("read_only_root"),
		Network: Network(o.text("network")), CapDrop: o.texts("cap_drop"), SecurityOpt: o.texts("security_opt"),
		Command: o.texts("command"), Provenance: o.text("provenance"), SpecHash: o.text("spec_hash"),
	}
	for i, v := range o.list("mounts") {
		m := f.object(fmt.Sprintf("mounts[%d]", i), v)
		s.Mounts = append(s.Mounts, Mount{m.text("source"), m.text("target"), Mode(m.text("mode")), m.text("purpose")})
		m.end()
	}
	r := f.object("resources", o.take("resources"))
	s.Resources = Resources{Memory: r.text("memory"), CPUs: r.text("cpus"), PIDs: r.number("pids")}
	r.end()
	e := f.object("environment", o.take("environment"))
	for _, m := range e.members {
		s.Environment = append(s.Environment, Variable{m.key, e.text(m.key)})
	}
	if o.truth("created") {
		f.add("a spec declares a container; it describes none that runs", "created is true")
	}
	o.pass("ok", true)
	o.pass("exit_code", json.Number("0"))
	o.end()
	return s
}

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
