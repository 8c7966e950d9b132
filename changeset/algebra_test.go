package changeset

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/fault"
)

func TestDetectRenames(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name          string
		before, after tree
		want          map[string]string // new path → old path
	}{
		{"one pair", tree{"a": file("x")}, tree{"b": file("x")}, map[string]string{"b": "a"}},
		{"with a new mode", tree{"a": file("x")}, tree{"b": prog("x")}, map[string]string{"b": "a"}},
		{"changed on the way", tree{"a": file("x")}, tree{"b": file("y")}, nil},
		{"two candidates on the left", tree{"a": file("x"), "b": file("x")}, tree{"c": file("x")}, nil},
		{"two candidates on the right", tree{"a": file("x")}, tree{"c": file("x"), "d": file("x")}, nil},
		{"empty files are no evidence", tree{"a": file("")}, tree{"b": file("")}, nil},
		{"a copy is no rename", tree{"a": file("x")}, tree{"a": file("x"), "b": file("x")}, nil},
		{"links are not paired", tree{"a": link("x")}, tree{"b": link("x")}, nil},
		{"two pairs", tree{"a": file("x"), "b": file("y")}, tree{"c": file("y"), "d": file("x")}, map[string]string{"c": "b", "d": "a"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s, _ := compare(x.before, x.after)
			n := len(s.Changes)
			DetectRenames(s)
			got := map[string]string{}
			for _, c := range s.Changes {
				if c.Op == Renamed {
					got[c.Path] = c.From
				}
			}
			if len(x.want)+len(got) > 0 && cmp.Diff(x.want, got) != "" {
				t.Error(cmp.Diff(x.want, got))
			}
			if len(s.Changes) != n-len(x.want) {
				t.Errorf("%d changes, want %d", len(s.Changes), n-len(x.want))
			}
		})
	}
}

// TestRenamesRoundTrip: detecting and splitting change nothing in what is carried
// out, and both are idempotent.
func TestRenamesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		before := treeGen().Draw(rt, "before")
		after := changed(rt, before)
		plain, _ := compare(before, after)
		s, src := compare(before, after)
		DetectRenames(s)
		once := mustJSON(t, s)
		DetectRenames(s)
		if again := mustJSON(t, s); again != once {
			rt.Fatalf("not idempotent:\n%s\n%s", once, again)
		}
		got, err := carry(before, s, src)
		if err != nil {
			rt.Fatal(err)
		}
		if d := sameTree(got, after); d != "" {
			rt.Fatal(d)
		}
		SplitRenames(s)
		if d := cmp.Diff(mustJSON(t, plain), mustJSON(t, s)); d != "" {
			rt.Fatal(d)
		}
	})
}

func mustJSON(tb testing.TB, v any) string {
	tb.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// TestSelectSplitsIntoTwoThatAdd: whatever is picked can be carried out alone,
// and the rest on top of it gives the whole.
func TestSelectSplitsIntoTwoThatAdd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		before := treeGen().Draw(rt, "before")
		after := changed(rt, before)
		s, src := compare(before, after)
		if rapid.Bool().Draw(rt, "renames") {
			DetectRenames(s)
		}
		var sel Selection
		if all := paths(s); len(all) > 0 {
			sel.Paths = rapid.SliceOfN(rapid.SampledFrom(all), 1, 3).Draw(rt, "paths")
		}
		got, err := Select(s, sel)
		if err != nil {
			rt.Fatal(err)
		}
		if len(got.Unmatched) != 0 {
			rt.Fatalf("unmatched: %q of %q", got.Unmatched, paths(s))
		}
		if len(got.Picked.Changes)+len(got.Rest.Changes) != len(s.Changes) {
			rt.Fatalf("%d + %d of %d", len(got.Picked.Changes), len(got.Rest.Changes), len(s.Changes))
		}
		half, err := carry(before, got.Picked, src)
		if err != nil {
			rt.Fatalf("picked: %v", err)
		}
		whole, err := carry(half, got.Rest, src)
		if err != nil {
			rt.Fatalf("rest: %v", err)
		}
		if d := sameTree(whole, after); d != "" {
			rt.Fatal(d)
		}
	})
}

func TestSelect(t *testing.T) {
	t.Parallel()
	s, _ := compare(
		tree{"old/x": file("1"), "old/y": file("2"), "keep.go": file("a")}.parents(),
		tree{"new/a.go": file("3"), "new/b.md": file("4"), "keep.go": file("b"), "y\xff": file("z")}.parents(),
	)
	for _, x := range []struct {
		name      string
		sel       Selection
		want      []string
		along     []string
		unmatched []string
	}{
		{"nothing asked is everything", Selection{}, paths(s), nil, nil},
		{"glob over base names", Selection{Only: []string{"*.go"}}, []string{"keep.go", "new", "new/a.go"}, []string{"new"}, nil},
		{"glob over paths", Selection{Only: []string{"new/*.md"}}, []string{"new", "new/b.md"}, []string{"new"}, nil},
		{"folder stands for what is below", Selection{Paths: []string{"new/"}}, []string{"new", "new/a.go", "new/b.md"}, nil, nil},
		{"a folder goes with what was in it", Selection{Only: []string{"old"}}, []string{"old", "old/x", "old/y"}, []string{"old/x", "old/y"}, nil},
		{"one file of a folder that goes", Selection{Paths: []string{"old/x"}}, []string{"old/x"}, nil, nil},
		{"bytes that are no UTF-8", Selection{Paths: []string{"y\xff"}}, []string{"y\xff"}, nil, nil},
		{"what matches nothing is named", Selection{Only: []string{"*.rs"}, Paths: []string{"keep.go", "nope"}}, []string{"keep.go"}, nil, []string{"*.rs", "nope"}},
		{"name that only starts alike", Selection{Paths: []string{"ne"}}, nil, nil, []string{"ne"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			got, err := Select(s, x.sel)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got.Along)
			for _, d := range []string{cmp.Diff(x.want, paths(got.Picked)), cmp.Diff(x.along, got.Along), cmp.Diff(x.unmatched, got.Unmatched)} {
				if d != "" {
					t.Error(d)
				}
			}
		})
	}
	if _, err := Select(s, Selection{Only: []string{"[a"}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("malformed glob: %v, want invalid", err)
	}
}

func TestSelectRenameByEitherName(t *testing.T) {
	t.Parallel()
	s, _ := compare(tree{"a": file("x"), "k": file("1")}, tree{"b": file("x"), "k": file("2")})
	DetectRenames(s)
	for _, p := range []string{"a", "b"} {
		got, err := Select(s, Selection{Paths: []string{p}})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Picked.Changes) != 1 || got.Picked.Changes[0].From != "a" {
			t.Errorf("%s picks %v", p, got.Picked.Changes)
		}
	}
}

// TestMergeIsTheDirectComparison: two sets in a row are the set from end to end.
func TestMergeIsTheDirectComparison(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		t0 := treeGen().Draw(rt, "t0")
		t1 := changed(rt, t0)
		t2 := changed(rt, t1)
		a, _ := compare(t0, t1)
		b, _ := compare(t1, t2)
		DetectRenames(a)
		DetectRenames(b)
		want, _ := compare(t0, t2)
		DetectRenames(want)
		got, err := Merge(a, b)
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(mustJSON(t, want), mustJSON(t, got)); d != "" {
			rt.Fatal(d)
		}
	})
}

func TestMergeKeepsStepsAndRefusesGaps(t *testing.T) {
	t.Parallel()
	a, _ := compare(tree{}, tree{"f": file("1"), "g": file("1")})
	b, _ := compare(tree{"f": file("1")}, tree{"f": file("2")})
	a.Changes[0].Steps, b.Changes[0].Steps = []string{"n01"}, []string{"n02"}
	a.Drift, b.Drift = []string{"z"}, []string{"y", "z"}
	m, err := Merge(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"n01", "n02"}, m.Changes[0].Steps); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"y", "z"}, m.Drift); d != "" {
		t.Error(d)
	}
	c, _ := compare(tree{"f": file("other")}, tree{"f": file("3")})
	_, err = Merge(a, b, c)
	if !fault.Is(err, fault.Conflict) || len(fault.As(err).Paths) != 1 || fault.As(err).Paths[0] != "f" {
		t.Errorf("a gap between sets: %v", err)
	}
}

// TestO25_JSONKeys pins the keys of the JSON form, and that odd bytes survive it.
func TestO25_JSONKeys(t *testing.T) {
	t.Parallel()
	s := &Set{
		Resource: "r", Root: "/r\xff", Type: "t", IgnoredPaths: 2, Drift: []string{"ok", "d\xfe"},
		Skipped: []Skip{{"s\xfd", "socket"}},
		Changes: []Change{{
			Path: "p\xff", From: "q\xfe", Op: Renamed, Binary: true, Flags: []Flag{FlagCI}, Why: map[Flag]string{FlagCI: "w"}, Steps: []string{"n1"},
			Before: &Entry{Kind: File, Mode: 0o644, Size: 3, Hash: "aa", Xattrs: map[string]string{"user.a": "\xff\x00", "user.b": "text"}},
			After:  &Entry{Kind: Symlink, Mode: 0o777, Link: "l\xff"},
		}},
	}
	want := `{
 "resource": "r",
 "root": "/r�",
 "type": "t",
 "ignored_paths": 2,
 "skipped": [
  {
   "path": "s�",
   "reason": "socket",
   "path_base64": "c/0="
  }
 ],
 "drift": [
  "ok",
  "d�"
 ],
 "changes": [
  {
   "path": "p�",
   "op": "renamed",
   "from": "q�",
   "before": {
    "kind": "file",
    "mode": 420,
    "size": 3,
    "hash": "aa",
    "xattrs": {
     "user.a": "�\u0000",
     "user.b": "text"
    },
    "xattrs_base64": {
     "user.a": "/wA="
    }
   },
   "after": {
    "kind": "symlink",
    "mode": 511,
    "link": "l�",
    "link_base64": "bP8="
   },
   "binary": true,
   "flags": [
    "ci"
   ],
   "why": {
    "ci": "w"
   },
   "steps": [
    "n1"
   ],
   "path_base64": "cP8=",
   "from_base64": "cf4="
  }
 ],
 "root_base64": "L3L/",
 "drift_base64": [
  "b2s=",
  "ZP4="
 ]
}`
	got, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	var back Set
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(*s, back); d != "" {
		t.Error(d)
	}
	if empty := mustJSON(t, &Set{}); !strings.Contains(empty, `"changes":[]`) {
		t.Errorf("no changes must read as a list: %s", empty)
	}
}

func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		before := treeGen().Draw(rt, "before")
		s, _ := compare(before, changed(rt, before))
		DetectRenames(s)
		var back Set
		if err := json.Unmarshal([]byte(mustJSON(t, s)), &back); err != nil {
			rt.Fatal(err)
		}
		if len(back.Changes) == 0 {
			back.Changes = nil
		}
		if d := cmp.Diff(*s, back); d != "" {
			rt.Fatal(d)
		}
	})
}
