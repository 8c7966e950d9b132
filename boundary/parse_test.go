package boundary

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func toJSON(t testing.TB, s Spec) string {
	t.Helper()
	raw, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// rehash puts the right hash into a spec that a test has changed, so that what was
// changed is what is refused.
func rehash(t *testing.T, text string) string {
	t.Helper()
	value, err := readJSON([]byte(text))
	if err != nil {
		return text
	}
	var f findings
	s := readSpec(&f, value)
	if h, err := s.Hash(); err == nil && s.SpecHash != "" {
		return strings.Replace(text, s.SpecHash, h, 1)
	}
	return text
}

func TestParse(t *testing.T) {
	t.Parallel()
	s := good(t)
	text := toJSON(t, s)
	for name, text := range map[string]string{
		"printed": text, "as ambit's JSON": `{"ok":true,"exit_code":0,` + text[1:], "space": "\n" + text + "\n\n",
	} {
		back, err := Parse([]byte(text))
		if diff := cmp.Diff(s, back, cmp.AllowUnexported(never{})); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"empty":                {text, "", "the spec is not JSON"},
		"cut":                  {text, text[:len(text)-2], "the spec is not JSON"},
		"two":                  {text, text + "{}", "something follows the object"},
		"rubbish behind":       {text, text + "x", "the spec is not JSON"},
		"list":                 {text, "[]", "the spec is not an object"},
		"null":                 {text, "null", "the spec is not an object"},
		"deep":                 {text, strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "nested more than 8 levels"},
		"large":                {text, text + strings.Repeat(" ", MaxSpecBytes), "the spec is larger than"},
		"not UTF-8":            {"M-1002", "\xff", "the spec is not UTF-8"},
		"changed":              {`"4g"`, `"8g"`, "it was changed"},
		"unknown":              {`"task_id"`, `"extra": 1, "task_id"`, `the spec holds "extra", which nobody knows`},
		"other case":           {`"read_only_root"`, `"Read_Only_Root"`, "the spec lacks read_only_root"},
		"left out":             {`"read_only_root": true,`, "", "the spec lacks read_only_root"},
		"twice":                {`"network"`, `"network": "host", "network"`, "network is there twice in the spec"},
		"null inside":          {`"cap_drop": [`, `"cap_drop": null, "x": [`, "cap_drop in the spec cannot be null"},
		"a number for a text":  {`"image": "registry.example.org:5000/team/tool:1.2"`, `"image": 1`, "image in the spec cannot be a number"},
		"a text for a number":  {`"pids": 512`, `"pids": "512"`, "pids in resources cannot be a text"},
		"no whole number":      {`"pids": 512`, `"pids": 5.5`, "pids in resources cannot be 5.5"},
		"a large number":       {`"pids": 512`, `"pids": 5000000000`, "pids in resources cannot be 5000000000"},
		"no limit":             {`"pids": 512`, `"pids": 0`, "pids is no number of processes: 0"},
		"created":              {`"created": false`, `"created": true`, "created is true"},
		"not a list":           {`"ALL"`, `["ALL"]`, "cap_drop in the spec cannot be a list with a list"},
		"mount left out":       {`"mode": "ro",`, "", "mounts[1] lacks mode"},
		"mount unknown":        {`"mode": "ro",`, `"mode": "ro", "propagation": "shared",`, `mounts[1] holds "propagation"`},
		"variable twice":       {`"A":`, `"A": "", "A":`, "A is there twice in environment"},
		"variable no text":     {`"PYTHONUNBUFFERED": "1"`, `"PYTHONUNBUFFERED": 1`, "PYTHONUNBUFFERED in environment cannot be a number"},
		"environment a list":   {`"environment": {`, `"environment": [], "x": {`, "environment is not an object"},
		"answer that failed":   {`{`, `{"ok": false, "exit_code": 3,`, "ok is not true"},
		"weakened":             {`"no-new-privileges:true"`, `"apparmor=unconfined"`, "takes a protection away"},
		"an option as image":   {`registry.example.org:5000/team/tool:1.2`, `--privileged`, "not the name of an image"},
		"working tree exposed": {`"/tmp/repo/api"`, `"/tmp/work/M-1002/sub"`, "one lies in the other"},
	} {
		changed := strings.Replace(text, c.old, c.new, 1)
		if changed == text {
			t.Fatalf("%s: nothing was changed", name)
		}
		if name != "changed" {
			changed = rehash(t, changed)
		}
		_, err := Parse([]byte(changed))
		if err != nil && name == "changed" {
			refused(t, name, err, "spec_hash is")
			continue
		}
		refused(t, name, err, c.want)
	}
}

// anySpec draws what New takes: hostile here and there, so that most are accepted.
func anySpec(t *rapid.T) (Spec, error) {
	word := rapid.StringMatching(`[a-zA-Z0-9._é -]{1,12}`)
	o := Options{
		Repo: anyPath(t, "/r"), Evidence: anyPath(t, "/e"),
		Memory: mostly(t, "", "6m", "1.5g", "512M", "x"), CPUs: mostly(t, "", "0.5", "1", "-1"), PIDs: mostly(t, 0, 1, 5000, -1),
		Network: mostly[Network](t, "", "none", "host", "x"), EnvPrefix: mostly(t, "", "HIDRATADOR", "a_b", "1"),
		Command: rapid.SampledFrom([][]string{nil, {"make", "--x", ""}, {"-e", "A=B"}}).Draw(t, "command"),
	}
	for range rapid.IntRange(0, 2).Draw(t, "variables") {
		o.Environment = append(o.Environment, Variable{
			rapid.StringMatching(`[A-Za-z_][A-Z_0-9]{0,3}`).Draw(t, "name"), rapid.StringMatching(`[^\x00]{0,8}`).Draw(t, "value"),
		})
	}
	return New(word.Draw(t, "task"), or(anyPath(t, "/w"), "/w"), o)
}

// mostly draws the first value as often as all others together.
func mostly[T comparable](t *rapid.T, first T, others ...T) T {
	if rapid.Bool().Draw(t, "first") {
		return first
	}
	return rapid.SampledFrom(others).Draw(t, "other")
}

// anyPath draws a path below root, now and then one that is none or lies elsewhere.
func anyPath(t *rapid.T, root string) string {
	below := rapid.StringMatching(`(/[a-z =':é.-]{1,3}){0,3}`).Draw(t, "path")
	return mostly(t, root+below, "", root, "/w"+below, "/", root+"/..", root+",b")
}

// checkPromises holds a spec that was accepted to what is promised of all of them.
func checkPromises(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, s Spec,
) {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatalf("accepted, and refused by Check: %v", err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("%v", err)
	}
	back, err := Parse(raw)
	if err != nil || cmp.Diff(s, back, cmp.AllowUnexported(never{})) != "" {
		t.Fatalf("reads back otherwise: %v %s", err, cmp.Diff(s, back, cmp.AllowUnexported(never{})))
	}
	argv, err := DockerArgv(s, "")
	if err != nil {
		t.Fatalf("%v", err)
	}
	checkArgv(t, s, argv, 1)
	for i, render := range []func(Spec, Execution) (Rendered, error){DockerRun, PodmanArgv, BwrapArgv} {
		x, err := render(s, Execution{User: "1000:1000", Original: "/original/place"})
		if err != nil {
			t.Fatalf("%v", err)
		}
		if i < 2 {
			checkArgv(t, s, x.Argv, 2)
		}
	}
	writable := Report(s).WritablePaths
	if len(writable) == 0 || writable[0] != WorkspaceTarget && len(writable) == 1 {
		t.Fatalf("writable: %q", writable)
	}
}

// checkArgv reads a command line as docker would: every option takes exactly one
// value, then the image, then the command; and every writable mount is the working
// tree.
func checkArgv(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, s Spec, argv []string, atLeast int,
) {
	t.Helper()
	alone := map[string]bool{"-d": true, "--read-only": true, "--init": true, "--read-only-tmpfs=false": true}
	i, writable := 2, 0
	for ; i < len(argv) && strings.HasPrefix(argv[i], "-"); i++ {
		if alone[argv[i]] {
			continue
		}
		if argv[i] == "--mount" {
			fields := strings.Split(argv[i+1], ",")
			if strings.ContainsAny(argv[i+1], "\"\n\r") || len(fields) > 4 {
				t.Fatalf("mount %q", argv[i+1])
			}
			if fields[len(fields)-1] != "ro" {
				writable++
				if fields[1] != "source="+s.Workdir {
					t.Fatalf("writable: %q", argv[i+1])
				}
			}
		}
		i++
	}
	if writable < atLeast || argv[i] != s.Image || strings.Join(argv[i+1:], "\x00") != strings.Join(s.Command, "\x00") {
		t.Fatalf("%d writable mounts, image and command %q in %q", writable, argv[i:], argv)
	}
}

func TestEverySpecKeepsItsPromises(t *testing.T) {
	t.Parallel()
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		s, err := anySpec(t)
		if err != nil {
			return
		}
		accepted++
		checkPromises(t, s)
	})
	if accepted == 0 {
		t.Error("no spec was accepted: nothing was tested")
	}
}

// TestTheHashBindsEverything: no two specs that differ have one hash.
func TestTheHashBindsEverything(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		s, err := anySpec(t)
		if err != nil {
			return
		}
		hash := s.SpecHash
		s.SpecHash = ""
		// Variables are an unordered object to a hash.
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		sorted, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[hash]; ok && other != string(sorted) {
			t.Fatalf("%s\n%s\nboth have %s", other, sorted, hash)
		}
		seen[hash] = string(sorted)
	})
}

func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		if v.Spec != nil {
			f.Add([]byte(v.Spec), true)
		}
	}
	f.Add([]byte(`{"ok":true,"exit_code":0,"task_id":"a","mounts":[{"source":"/a"}],"environment":{"A":"\ud800"},"resources":{"pids":1e3}}`), true)
	f.Add([]byte(`[[{"a":[]}],null,1,"x",true]`), false)
	f.Fuzz(func(t *testing.T, text []byte, hashed bool) {
		if hashed { // so that the fuzzer gets past the hash
			text = []byte(rehash(t, string(text)))
		}
		s, err := Parse(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without words")
			}
			return
		}
		checkPromises(t, s)
	})
}
