package engine

import (
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
