package canonjson

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestVectors checks the form against hashes that another implementation made.
func TestVectors(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/canonical-json.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Value                    json.RawMessage
			Canonical, SHA256, Short string
		}
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 20 {
		t.Fatalf("only %d vectors", len(file.Cases))
	}
	for _, c := range file.Cases {
		got, err := Transform(c.Value)
		if err != nil {
			t.Errorf("%s: %v", c.Value, err)
			continue
		}
		if string(got) != c.Canonical || Sum(got) != c.SHA256 || Short(got) != c.Short {
			t.Errorf("%s:\n got %s %s\nwant %s %s", c.Value, got, Sum(got), c.Canonical, c.SHA256)
		}
	}
}

func TestGoValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    any
		want string
	}{
		{Object{{"b", 1}, {"a", []string{"x", "é"}}}, `{"a": ["x", "\u00e9"], "b": 1}`},
		{map[string]any{"n": nil, "f": 2.0, "t": true}, `{"f": 2.0, "n": null, "t": true}`},
		{[]any{int64(-5), uint64(math.MaxUint64), 1e15, 1e16, 9.999e15, 0.0001, 0.00001}, `[-5, 18446744073709551615, 1000000000000000.0, 1e+16, 9999000000000000.0, 0.0001, 1e-05]`},
		{math.Copysign(0, -1), `-0.0`},
		{json.Number("-0"), `0`},
		{json.Number("-0.0"), `-0.0`},
		{json.Number("123456789012345678901234567890"), `123456789012345678901234567890`},
		{[]string(nil), `[]`},
		{Object(nil), `{}`},
	} {
		got, err := Marshal(c.v)
		if err != nil || string(got) != c.want {
			t.Errorf("%#v: got %s, %v; want %s", c.v, got, err, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	deep := any(1)
	for range MaxDepth + 2 {
		deep = []any{deep}
	}
	for name, v := range map[string]any{
		"struct": struct{ A int }{1}, "not UTF-8": "a\xffb", "not UTF-8 key": map[string]any{"\xff": 1},
		"NaN": math.NaN(), "infinity": math.Inf(1), "repeated key": Object{{"a", 1}, {"a", 1}},
		"word as number": json.Number("true"), "empty number": json.Number(""), "huge number": json.Number("1e999"),
		"deep": deep, "float32": float32(1),
	} {
		if got, err := Marshal(v); err == nil {
			t.Errorf("%s: no error, got %.80s", name, got)
		}
	}
	for _, text := range []string{"", "{", "1 2", "[1,]", strings.Repeat("[", 5000) + strings.Repeat("]", 5000)} {
		if _, err := Transform([]byte(text)); err == nil {
			t.Errorf("Transform(%.10q): no error", text)
		}
	}
	o := Object{{"b", 1}, {"a", 2}}
	if _, err := Marshal(o); err != nil || o[0].Key != "b" {
		t.Errorf("Marshal reordered its argument: %v %v", o, err)
	}
}

// TestRoundTrip: the form is JSON, reads back as the same value, and is a fixed
// point of Transform.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	leaf := rapid.OneOf(
		rapid.Just(any(nil)), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.Float64Range(-1e300, 1e300), func(f float64) any { return f }),
	)
	value := rapid.Deferred(func() *rapid.Generator[any] { return leaf })
	for range 3 {
		inner := value
		value = rapid.OneOf(leaf,
			rapid.Map(rapid.SliceOfN(inner, 0, 4), func(s []any) any { return s }),
			rapid.Map(rapid.MapOfN(rapid.String(), inner, 0, 4), func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(t *rapid.T) {
		v := value.Draw(t, "value")
		form, err := Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range form {
			if c < ' ' || c > '~' {
				t.Fatalf("byte %#x in %q", c, form)
			}
		}
		var back any
		if err := json.Unmarshal(form, &back); err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if !reflect.DeepEqual(v, back) {
			t.Fatalf("%s reads back as %#v, was %#v", form, back, v)
		}
		again, err := Transform(form)
		if err != nil || string(again) != string(form) {
			t.Fatalf("Transform changed %s to %s (%v)", form, again, err)
		}
	})
}
