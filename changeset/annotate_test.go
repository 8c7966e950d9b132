package changeset

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-run/ambit/fault"
)

func flagsOf(t *testing.T, s *Set, path string) []Flag {
	t.Helper()
	for _, c := range s.Changes {
		if c.Path == path {
			return c.Flags
		}
	}
	t.Fatalf("%q is no change of the set: %v", path, paths(s))
	return nil
}

func TestAnnotateFlags(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n"
	token := "ghp_" + strings.Repeat("a1B2", 9)
	for _, x := range []struct {
		name          string
		before, after tree
		path          string
		want          []Flag
	}{
		{"new executable", tree{}, tree{"run": prog("x")}, "run", []Flag{FlagNewExecutable}},
		{"made executable", tree{"run": file("x")}, tree{"run": prog("x")}, "run", []Flag{FlagNewExecutable}},
		{"was executable", tree{"run": prog("x")}, tree{"run": prog("y")}, "run", nil},
		{"link becomes executable", tree{"run": link("x")}, tree{"run": prog("y")}, "run", []Flag{FlagNewExecutable}},
		{"V42 setuid", tree{}, tree{"su": {File, 0o4644, "x"}}, "su", []Flag{FlagSetuid}},
		{"V42 setgid", tree{"su": file("x")}, tree{"su": {File, 0o2644, "x"}}, "su", []Flag{FlagSetuid}},
		{"setgid folder is how shared folders work", tree{}, tree{"d": {Dir, 0o2755, ""}}, "d", nil},
		{"C36 link to an absolute place", tree{}, tree{"l": link("/etc/passwd")}, "l", []Flag{FlagLinkOutside}},
		{"C36 link that climbs", tree{}, tree{"a/l": link("../../x")}, "a/l", []Flag{FlagLinkOutside}},
		{"link that climbs inside", tree{}, tree{"a/b/l": link("../../x")}, "a/b/l", nil},
		{"link that climbs behind a name", tree{}, tree{"a/b/l": link("c/../x")}, "a/b/l", []Flag{FlagLinkOutside}},
		{"link by dots only", tree{}, tree{"l": link("./x")}, "l", nil},
		{"V34 .git at depth", tree{}, tree{"a/b/.git/hooks/pre-commit": file("x")}, "a/b/.git/hooks/pre-commit", []Flag{FlagGitControl}},
		{"V26 .GIT", tree{}, tree{".GIT/config": file("x")}, ".GIT/config", []Flag{FlagGitControl}},
		{"V26 .git as a file", tree{}, tree{"sub/.git": file("gitdir: /x")}, "sub/.git", []Flag{FlagGitControl}},
		{"V26 git~1", tree{}, tree{"git~1/config": file("x")}, "git~1/config", []Flag{FlagGitControl}},
		{"V26 trailing dots and spaces", tree{}, tree{".git. . /config": file("x")}, ".git. . /config", []Flag{FlagGitControl}},
		{"V26 stream", tree{}, tree{".git::$INDEX_ALLOCATION/config": file("x")}, ".git::$INDEX_ALLOCATION/config", []Flag{FlagGitControl}},
		{"V26 invisible code points", tree{}, tree{".g\u200cit/config": file("x")}, ".g\u200cit/config", []Flag{FlagGitControl}},
		{"V26 backslashes", tree{}, tree{`a\.git\hooks`: file("x")}, `a\.git\hooks`, []Flag{FlagGitControl}},
		{"V28 attributes", tree{}, tree{"d/.gitattributes": file("x")}, "d/.gitattributes", []Flag{FlagGitControl}},
		{"V26 modules", tree{}, tree{".gitmodules": file("x")}, ".gitmodules", []Flag{FlagGitControl}},
		{"V26 short names", tree{}, tree{"GITMOD~1": file("x")}, "GITMOD~1", []Flag{FlagGitControl}},
		{"hook runner", tree{}, tree{".husky/pre-commit": file("x")}, ".husky/pre-commit", []Flag{FlagGitControl}},
		{"ignore file is harmless", tree{}, tree{".gitignore": file("x")}, ".gitignore", nil},
		{"name that only starts so", tree{}, tree{".github/ISSUE.md": file("x")}, ".github/ISSUE.md", nil},
		{"deleting .gitattributes counts", tree{".gitattributes": file("x")}, tree{}, ".gitattributes", []Flag{FlagGitControl}},
		{"V14 settings file that was not there", tree{}, tree{".claude/settings.json": file("{}")}, ".claude/settings.json", []Flag{FlagToolControl}},
		{"V14 direnv", tree{}, tree{"a/.envrc": file("x")}, "a/.envrc", []Flag{FlagToolControl}},
		{"agent documents are harmless", tree{}, tree{".claude/commands/x.md": file("x")}, ".claude/commands/x.md", nil},
		{"ci", tree{}, tree{".github/workflows/x.yml": file("x")}, ".github/workflows/x.yml", []Flag{FlagCI}},
		{"manifest", tree{}, tree{"web/package.json": file("x")}, "web/package.json", []Flag{FlagManifest}},
		{"lock file", tree{}, tree{"go.sum": file("x")}, "go.sum", []Flag{FlagManifest}},
		{"secret by name", tree{}, tree{".env.local": file("x")}, ".env.local", []Flag{FlagSecret}},
		{"example of one", tree{}, tree{".env.example": file("x")}, ".env.example", nil},
		{"secret by content", tree{}, tree{"notes": file("a\n" + key)}, "notes", []Flag{FlagSecret}},
		{"token that was there", tree{"c": file(token + "\n")}, tree{"c": file("x\n" + token + "\n")}, "c", nil},
		{"token that is new", tree{"c": file("x\n")}, tree{"c": file("x\n" + token + "\n")}, "c", []Flag{FlagSecret}},
		{"password in a URL", tree{}, tree{"c": file("db: postgres://u:Tr0ub4dor@db/x")}, "c", []Flag{FlagSecret}},
		{"placeholder in a URL", tree{}, tree{"c": file("db: postgres://u:password@db/x")}, "c", nil},
		{"O60 settings.json of one's own", tree{}, tree{"app/settings.json": file("x"), "app/auth.json": file("x")}, "app/auth.json", nil},
		{"several, gravest first", tree{}, tree{".git/hooks/post-merge": prog(token)}, ".git/hooks/post-merge", []Flag{FlagGitControl, FlagSecret, FlagNewExecutable}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			s, src := compare(x.before, x.after)
			for range 2 { // again, nothing doubles
				if err := Annotate(t.Context(), s, src, Policy{}); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(x.want, flagsOf(t, s, x.path)); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

func TestAnnotateRenameJudgesBothNames(t *testing.T) {
	t.Parallel()
	s, src := compare(tree{"harmless": file("[core]\n")}, tree{".git/config": file("[core]\n")})
	DetectRenames(s)
	if err := Annotate(t.Context(), s, src, Policy{}); err != nil {
		t.Fatal(err)
	}
	if got := flagsOf(t, s, ".git/config"); !slices.Contains(got, FlagGitControl) {
		t.Errorf("renamed into .git: %v", got)
	}
	s, src = compare(tree{".github/workflows/ci.yml": file("on: push\n")}, tree{"old-ci.yml": file("on: push\n")})
	DetectRenames(s)
	if err := Annotate(t.Context(), s, src, Policy{}); err != nil {
		t.Fatal(err)
	}
	if got := flagsOf(t, s, "old-ci.yml"); !slices.Contains(got, FlagCI) {
		t.Errorf("renamed out of CI: %v", got)
	}
}

func TestV26_EmbeddedBareRepository(t *testing.T) {
	t.Parallel()
	after := tree{"fixtures/repo/HEAD": file("ref: x"), "fixtures/repo/config": file("[core]\n\tfsmonitor = evil"), "fixtures/repo/refs/heads/x": file("1"), "fixtures/repo/objects/aa": file("1")}.parents()
	s, src := compare(tree{}, after)
	if err := Annotate(t.Context(), s, src, Policy{}); err != nil {
		t.Fatal(err)
	}
	if got := flagsOf(t, s, "fixtures/repo/config"); !slices.Contains(got, FlagGitControl) {
		t.Errorf("configuration of a bare repository is not flagged: %v", got)
	}
	if got := flagsOf(t, s, "fixtures"); len(got) != 0 {
		t.Errorf("the folder above is flagged: %v", got)
	}
}

func TestAnnotateDeclared(t *testing.T) {
	t.Parallel()
	s, _ := compare(tree{}, tree{"a/x.go": file("1"), "a/y.go": file("1"), "b/z.go": file("1"), "c/d/e.md": file("1")}.parents())
	for i := range s.Changes {
		s.Changes[i].Steps = []string{"n01-x"}
	}
	p := Policy{Declared: map[string][]string{"n01-x": {"./a/x.go", "b", "c/**/*.md"}}}
	if err := Annotate(t.Context(), s, nil, p); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range s.Changes {
		if slices.Contains(c.Flags, FlagUndeclared) {
			got = append(got, c.Path)
		}
	}
	if d := cmp.Diff([]string{"a/y.go"}, got); d != "" { // and no folder on the way
		t.Error(d)
	}
	p.Declared = map[string][]string{"n01-x": nil}
	if err := Annotate(t.Context(), s, nil, p); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Changes[0].Flags); n != 0 {
		t.Errorf("a step that declared nothing is held to something: %v", s.Changes[0].Flags)
	}
}

func TestAnnotateManyDeletes(t *testing.T) {
	t.Parallel()
	before := tree{"d/a": file("1"), "d/b": file("2"), "d/c": file("3")}.parents()
	s, src := compare(before, tree{})
	for _, x := range []struct {
		limit int
		want  bool
	}{{2, true}, {3, false}} {
		if err := Annotate(t.Context(), s, src, Policy{MaxDeletes: x.limit}); err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(flagsOf(t, s, "d/a"), FlagManyDeletes); got != x.want {
			t.Errorf("limit %d: flagged %v, want %v", x.limit, got, x.want)
		}
	}
}

// TestC134_LargeFileIsSearchedInItsFirstPart: it costs a bounded read and is said.
func TestC134_LargeFileIsSearchedInItsFirstPart(t *testing.T) {
	t.Parallel()
	s, src := compare(tree{}, tree{"big": file(strings.Repeat("x", 4096) + "AKIA" + strings.Repeat("A", 16))})
	for range 2 {
		if err := Annotate(t.Context(), s, src, Policy{ScanBytes: 1024}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.Changes[0].Flags) != 0 {
		t.Errorf("found beyond the cap: %v", s.Changes[0].Flags)
	}
	if d := cmp.Diff([]string{"searched for credentials only in the first 1 KiB: big"}, s.Notices); d != "" {
		t.Error(d)
	}
}

type failing struct{ pairSource }

func (f failing) Open(side Side, p string) (io.ReadCloser, error) {
	if p == "bad" {
		return nil, fault.New(fault.Denied, "", "no")
	}
	return f.pairSource.Open(side, p)
}

func TestAnnotateGoesOnPastWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	s, src := compare(tree{}, tree{"bad": file("x"), "z": file("AKIA" + strings.Repeat("A", 16))})
	err := Annotate(t.Context(), s, failing{src}, Policy{})
	if !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "bad") {
		t.Errorf("error %v, want denied, naming bad", err)
	}
	if got := flagsOf(t, s, "z"); !slices.Contains(got, FlagSecret) {
		t.Errorf("the file behind it was not searched: %v", got)
	}
}

func TestFlagsAreRankedAndBlocking(t *testing.T) {
	t.Parallel()
	for i, f := range Flags() {
		if rank(f) != i {
			t.Errorf("%s: rank %d, want %d", f, rank(f), i)
		}
	}
	s := &Set{Changes: []Change{{Path: "a", Flags: []Flag{FlagCI}}, {Path: "b", Flags: []Flag{FlagSecret, FlagSetuid}}}}
	if got := s.Blocked(); len(got) != 1 || got[0].Path != "b" {
		t.Errorf("blocked: %v", got)
	}
}
