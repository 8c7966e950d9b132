package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const stream = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:3: needs xfs\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestB","Elapsed":0}
`

func TestReport(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, in string
		args     []string
		want     []string
		err      string
	}{
		{"passes", stream + `{"Action":"pass","Package":"p","Elapsed":0.2}` + "\n", nil, []string{"ok   p  1 tests, 1 skipped  0.2s", "tests: 1 tests ran, 1 skipped, 0 failed"}, ""},
		{"fails", stream + `{"Action":"output","Package":"p","Test":"TestC","Output":"boom\n"}
{"Action":"fail","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p","Elapsed":1}` + "\n", nil, []string{"boom", "failed: p TestC"}, "tests failed"},
		{"package fails outside of a test", stream + `{"Action":"output","Package":"p","Output":"leak\n"}
{"Action":"fail","Package":"p","Elapsed":1}` + "\n", nil, []string{"leak", "failed: p"}, "tests failed"},
		{"does not build", `{"ImportPath":"p","Action":"build-output","Output":"x.go:1: no\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"fail","Package":"p","FailedBuild":"p"}` + "\n", nil, []string{"x.go:1: no", "failed: p (build)"}, "tests failed"},
		{"killed in the middle", stream + `{"Action":"output","Package":"p","Test":"TestC","Output":"=== RUN   TestC\n"}` + "\n", nil, []string{"TestC (did not end)"}, "tests failed"},
		{"nothing ran", "", nil, nil, "0 tests ran, at least 1 must"},
		{"fewer than asked", stream + `{"Action":"pass","Package":"p"}` + "\n", []string{"-min", "2"}, nil, "at least 2 must"},
		{"foreign lines pass", "hello\n" + stream, nil, []string{"hello\n"}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			err := run(x.args, strings.NewReader(x.in), &out)
			if (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
				t.Errorf("error %v, want %q", err, x.err)
			}
			for _, w := range x.want {
				if !strings.Contains(out.String(), w) {
					t.Errorf("no %q in:\n%s", w, out.String())
				}
			}
		})
	}
}

func TestSkipsAreNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "skips")
	for range 2 {
		if err := run([]string{"-label", "as root", "-skips", file}, strings.NewReader(stream), &strings.Builder{}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line := "as root: p TestB: needs xfs\n"
	if string(got) != line+line {
		t.Errorf("got %q", got)
	}
}
