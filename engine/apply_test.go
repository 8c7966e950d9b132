package engine

import (
	"errors"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

// TestAConflictIsSaidOnce: an error that was wrapped on its way up is reported
// with its own words, not with the names of the layers in between.
func TestAConflictIsSaidOnce(t *testing.T) {
	t.Parallel()
	rec := SandboxRecord{Resource: Resource{Path: "/r"}}
	inner := fault.New(fault.IdentityChanged, "apply", "main moved since the apply was prepared").WithPaths("refs/heads/main")
	const want = "apply: /r changed in ways that collide with plan p; nothing was applied: main moved since the apply was prepared"
	for _, err := range []error{
		inner,
		fault.Wrap("", "apply", inner),
		fault.Wrap("", "apply", errors.Join(fault.Wrap("", "commit", inner), nil)),
	} {
		got := new(Engine).describe(&Plan{ID: "p"}, rec, err)
		if got.Error() != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if f := fault.As(got); f.Code != fault.IdentityChanged || len(f.Paths) != 1 || f.Hint == "" {
			t.Errorf("code %s, paths %v, hint %q", f.Code, f.Paths, f.Hint)
		}
	}
}
