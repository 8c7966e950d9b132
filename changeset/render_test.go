package changeset

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-run/ambit/fault"
)

func example(t *testing.T) (*Set, pairSource) {
	t.Helper()
	before := tree{
		"main.go": file("package main\n\nfunc main() {\n}\n"), "main_test.go": file("package main\n"),
		"go.sum": file("a h1:x\n"), "old.txt": file("1\n2\n"), "logo.png": file("\x00abc"), "tool": file("x\n"),
		"docs/a.md": file("moved\n"),
	}.parents()
	after := tree{
		"main.go": file("package main\n\nfunc main() {\n\trun()\n}\n"), "main_test.go": file("package main\n\n// more\n"),
		"go.sum": file("a h1:x\nb h1:y\n"), "logo.png": file("\x00abcd"), "tool": prog("x\n"),
		"docs/b.md": file("moved\n"), ".gitattributes": file("*.go filter=x\n"), "empty": dirNode(), "conf": link("/etc/conf"),
		"new/deep/x.go": file("package deep\n"),
	}.parents()
	s, src := compare(before, after)
	s.Resource, s.Root = "api", "/home/u/api"
	s.IgnoredPaths = 34
	s.Skipped = []Skip{{"run.sock", "socket"}}
	s.Drift = []string{"README.md"}
	DetectRenames(s)
	if err := CountLines(t.Context(), s, src, Limits{}); err != nil {
		t.Fatal(err)
	}
	if err := Annotate(t.Context(), s, src, Policy{}); err != nil {
		t.Fatal(err)
	}
	return s, src
}

func TestSummary(t *testing.T) {
	t.Parallel()
	s, _ := example(t)
	var b bytes.Buffer
	if err := Summary(&b, []*Set{s, {Resource: "web", Root: "/home/u/web"}}, SummaryOptions{}); err != nil {
		t.Fatal(err)
	}
	want := `api  /home/u/api
  4 created, 5 modified, 1 deleted, 1 renamed (+7 -2)
  A  .gitattributes          +1  [!git-control]
       git-control: chooses the filters that git runs
  A  conf => /etc/conf       +1  [link-leaves-tree]
       link-leaves-tree: points to /etc/conf
  M  tool                    mode 0644 -> 0755  [new-executable]
  R  docs/a.md -> docs/b.md
  A  empty/
  M  logo.png                binary, 4 B -> 5 B
  M  main.go                 +1
  A  new/deep/x.go           +1
  D  old.txt                 -2
  M  main_test.go            +2
  M  go.sum                  +1  [dependency-manifest]
  ignored: 34 paths stay in the sandbox (--ignored takes them along)
  not covered: run.sock (socket)
  changed underneath meanwhile, not part of this: README.md
  1 change needs your decision before an apply: git-control

web  /home/u/web
  nothing changed
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}

func TestSummaryIsBounded(t *testing.T) {
	t.Parallel()
	after := tree{}
	for i := range 100 {
		after["f"+itoa(100+i)] = file("x\n")
	}
	s, _ := compare(tree{}, after)
	var b bytes.Buffer
	if err := Summary(&b, []*Set{s}, SummaryOptions{Paths: 3}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != 6 || !strings.Contains(b.String(), "... and 97 more paths") {
		t.Errorf("%d lines:\n%s", n, b.String())
	}
}

// TestStatLikeGit compares with what git prints for the same change.
func TestStatLikeGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	before := tree{"a.go": file(strings.Repeat("x\n", 200)), "gone": file("1\n"), "m": file("k\n"), "b": file("\x00ab")}
	after := tree{"a.go": file(strings.Repeat("x\n", 100) + strings.Repeat("y\n", 150)), "m": prog("k\n"), "b": file("\x00abcdef"), "n": link("m")}
	s, src := compare(before, after)
	if err := CountLines(t.Context(), s, src, Limits{}); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := Stat(&got, s, StatOptions{}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	before.write(t, filepath.Join(mkdir(t, dir, "x")))
	after.write(t, filepath.Join(mkdir(t, dir, "y")))
	cmd := exec.Command("git", "-c", "diff.renames=false", "diff", "--no-index", "--stat=80", "x", "y")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C"}
	out, _ := cmd.Output() // exits 1 where there are differences
	total := func(text string) string {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		return strings.TrimSpace(lines[len(lines)-1])
	}
	if g, w := total(got.String()), total(string(out)); g != w {
		t.Errorf("total %q, git says %q", g, w)
	}
	for _, want := range []string{" a.go | 250 +++", " b    | Bin 3 -> 7 bytes\n", " gone |   1 -\n", " m    |   0\n", " n    |   1 +\n"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in:\n%s", want, got.String())
		}
	}
}

func TestReviewOrderFlagsAndFolds(t *testing.T) {
	t.Parallel()
	s, src := example(t)
	got := unified(t, s, src, DiffOptions{Escape: true, Review: true, Heading: true})
	at := -1
	for _, mark := range []string{
		"# api  /home/u/api", "# .gitattributes: needs a decision: git-control: chooses the filters that git runs",
		"diff --git a/.gitattributes", "diff --git a/conf", "diff --git a/tool", "# empty/: new folder, mode 0755", "diff --git a/main.go", "diff --git a/main_test.go",
		"# go.sum: lock file, folded: +1 -0", "diff --git a/go.sum b/go.sum\nFiles a/go.sum and b/go.sum differ\n",
	} {
		i := strings.Index(got, mark)
		if i <= at {
			t.Errorf("%q at %d, after %d:\n%s", mark, i, at, got)
		}
		at = i
	}
	if full := unified(t, s, src, DiffOptions{Escape: true, Review: true, Unfold: true}); !strings.Contains(full, "+b h1:y\n") {
		t.Errorf("not unfolded:\n%s", full)
	}
}

// TestC101_LimitsAreSaidAndFailClosed: what is not shown is named, and git apply
// refuses the patch instead of making an empty file.
func TestC101_LimitsAreSaidAndFailClosed(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		limits Limits
		want   string
	}{
		{"bytes", Limits{FileBytes: 100}, "# big: not shown: larger than the limit of 100 B (2 KiB)\n"},
		{"lines", Limits{DiffLines: 10}, "# big: not shown: its diff has 1024 lines, the limit is 10\n"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s, src := compare(tree{}, tree{"big": file(strings.Repeat("x\n", 1024)), "z": file("y\n")})
			got := unified(t, s, src, DiffOptions{Limits: x.limits})
			if !strings.Contains(got, x.want) || !strings.Contains(got, "+y\n") {
				t.Errorf("got:\n%s", got)
			}
			dir := t.TempDir()
			if err := gitApply(t, dir, []byte(got)); err == nil {
				t.Errorf("git applied a patch that lacks contents: %v", readTree(t, dir))
			}
			if left := readTree(t, dir); len(left) != 0 {
				t.Errorf("half applied: %v", left)
			}
		})
	}
	s, src := compare(tree{}, tree{"big": file(strings.Repeat("x\n", 1024))})
	if err := CountLines(t.Context(), s, src, Limits{FileBytes: 100}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"lines not counted above 100 B: big"}, s.Notices); d != "" {
		t.Error(d)
	}
}

func TestLongLinesAreCutForATerminalOnly(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 3000)
	s, src := compare(tree{}, tree{"f": file(long + "\n")})
	eyes := unified(t, s, src, DiffOptions{Escape: true})
	if !strings.Contains(eyes, "é [... 4000 bytes more in this line]\n") || strings.Contains(eyes, `\x`) {
		t.Errorf("got %q", eyes)
	}
	if patch := unified(t, s, src, DiffOptions{}); !strings.Contains(patch, "+"+long+"\n") {
		t.Error("a patch was shortened")
	}
}

// TestC97_LineEndingsShow: a changed line ending is visible, an unchanged one is no noise.
func TestC97_LineEndingsShow(t *testing.T) {
	t.Parallel()
	s, src := compare(tree{"f": file("a\r\nb\r\n")}, tree{"f": file("a\r\nb\n")})
	got := unified(t, s, src, DiffOptions{Escape: true})
	if !strings.Contains(got, " a\n-b\\r\n+b\n") {
		t.Errorf("got:\n%s", got)
	}
}

func TestUnifiedNoticesWhatMovedMeanwhile(t *testing.T) {
	t.Parallel()
	s, src := compare(tree{"a": file("1\n"), "b": file("1\n")}, tree{"a": file("2\n"), "b": file("2\n")})
	src.after = src.after.with(tree{"a": file("later\n")})
	var out bytes.Buffer
	err := Unified(t.Context(), &out, s, src, DiffOptions{})
	if !fault.Is(err, fault.Stale) {
		t.Errorf("error %v, want stale", err)
	}
	if got := out.String(); !strings.Contains(got, "# a: not shown: a changed since it was compared") || !strings.Contains(got, "+2\n") || strings.Contains(got, "later") {
		t.Errorf("got:\n%s", got)
	}
}

func TestRenderersReportWriteErrors(t *testing.T) {
	t.Parallel()
	s, src := example(t)
	full := errors.New("full")
	w := failWriter{full}
	if err := Unified(t.Context(), w, s, src, DiffOptions{}); !errors.Is(err, full) {
		t.Errorf("Unified: %v", err)
	}
	if err := Summary(w, []*Set{s}, SummaryOptions{}); !errors.Is(err, full) {
		t.Errorf("Summary: %v", err)
	}
	if err := Stat(w, s, StatOptions{}); !errors.Is(err, full) {
		t.Errorf("Stat: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(full)
	for name, err := range map[string]error{
		"Unified":    Unified(ctx, &bytes.Buffer{}, s, src, DiffOptions{}),
		"CountLines": CountLines(ctx, s, src, Limits{}),
		"Annotate":   Annotate(ctx, s, src, Policy{}),
	} {
		if !errors.Is(err, full) {
			t.Errorf("%s canceled: %v", name, err)
		}
	}
}

type failWriter struct{ err error }

func (f failWriter) Write([]byte) (int, error) { return 0, f.err }

func TestModesBeyondGitAreRemarked(t *testing.T) {
	t.Parallel()
	s, src := compare(tree{"a": {File, 0o644, "x"}, "d": {Dir, 0o755, ""}}, tree{"a": {File, 0o600, "x"}, "d": {Dir, 0o700, ""}, "su": {File, 0o4755, "y\n"}})
	s.Changes[0].After.Xattrs = map[string]string{"user.k": "v"}
	got := unified(t, s, src, DiffOptions{})
	for _, want := range []string{"# a: mode 0644 -> 0600\n", "# a: extended attribute user.k added\n", "# d: mode 0755 -> 0700\n", "# su: mode 4755\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "diff --git a/a") {
		t.Errorf("git gets an entry it cannot read:\n%s", got)
	}
}

func TestColorOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	s, src := example(t)
	for _, on := range []bool{false, true} {
		var b bytes.Buffer
		if err := Unified(t.Context(), &b, s, src, DiffOptions{Color: on, Escape: true, Review: true}); err != nil {
			t.Fatal(err)
		}
		if err := Summary(&b, []*Set{s}, SummaryOptions{Color: on}); err != nil {
			t.Fatal(err)
		}
		if err := Stat(&b, s, StatOptions{Color: on}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "\x1b["); got != on {
			t.Errorf("color %v: escapes %v", on, got)
		}
	}
}
