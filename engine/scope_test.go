package engine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestScopePaths(t *testing.T) {
	t.Parallel()
	rs := []Resource{{Name: "app", Path: "/src/app"}, {Name: "docs", Path: "/src/docs"}}
	for _, c := range []struct {
		keys, want []string
	}{
		{nil, nil},
		{[]string{"app"}, []string{"/src/app"}},
		{[]string{"docs", "docs"}, []string{"/src/docs"}},
		{[]string{"internal/web", "internal/web/", "./internal/web"}, []string{"/src/app/internal/web"}},
		{[]string{"internal/**/x.go"}, []string{"/src/app/internal"}},
		{[]string{"**/*.go", "*"}, []string{"/src/app"}},
		{[]string{"internal/w[ab]"}, []string{"/src/app/internal"}},
		{[]string{"/src/docs/a.md"}, []string{"/src/docs/a.md"}},
		{[]string{"../else"}, []string{"/src/else"}},
		{[]string{"", " "}, nil},
	} {
		if got := scopePaths(c.keys, rs); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.keys, got, c.want)
		}
	}
}

// TestScopeThroughLink: one place under two names is one scope, also where what is
// named does not exist yet.
func TestScopeThroughLink(t *testing.T) {
	t.Parallel()
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(tmp, "app")
	if err := errors.Join(os.MkdirAll(filepath.Join(app, "internal/web"), 0o755), os.Symlink(app, filepath.Join(tmp, "link")),
		os.Symlink("internal", filepath.Join(app, "in"))); err != nil {
		t.Fatal(err)
	}
	rs := []Resource{{Name: "app", Path: app}}
	for key, want := range map[string]string{
		tmp + "/link/internal/web":     app + "/internal/web",
		tmp + "/link/internal/new/x":   app + "/internal/new/x",
		tmp + "/link/internal/**/x.go": app + "/internal",
		"in/web":                       app + "/internal/web",
		tmp + "/gone/x":                tmp + "/gone/x",
	} {
		if got := scopePaths([]string{key}, rs); !slices.Equal(got, []string{want}) {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

func TestScopeClash(t *testing.T) {
	t.Parallel()
	p := &Plan{ID: "me", Scope: []string{"/src/app/web", "/src/docs"}}
	for _, c := range []struct {
		plan, key string
		want      bool
	}{
		{"other", "scope:other:/src/app/web", true},
		{"other", "scope:other:/src/app", true},
		{"other", "scope:other:/src/docs/a.md", true},
		{"other", "scope:other:/src/app/website", false},
		{"other", "plan:other", false},
		{"me", "scope:me:/src/docs", false},
		{"mee", "scope:me:/src/docs", false}, // no lease of that plan's own
	} {
		if got := clash(p, Lease{Key: c.key, Plan: c.plan}) != nil; got != c.want {
			t.Errorf("%s: %v", c.key, got)
		}
	}
}
