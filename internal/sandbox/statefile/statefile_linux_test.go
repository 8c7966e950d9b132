package statefile

import (
	"os"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
)

type state struct {
	Format int      `json:"format"`
	Names  []string `json:"names"`
}

func TestState(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := fsop.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := Load[state](d, 3, "x"); !fault.Is(err, fault.NotFound) {
		t.Errorf("no file: %v", err)
	}
	if err := Save(d, state{3, []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	got, err := Load[state](d, 3, "x")
	if err != nil || len(got.Names) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Load[state](d, 4, "x"); !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), "format 3") {
		t.Errorf("another format: %v", err)
	}
	for _, bad := range []string{"", "{", `{"format":3,"names":7}`, `[]`} {
		if err := os.WriteFile(dir+"/"+Name, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Load[state](d, 3, "the tree beside it still holds the work")
		if !fault.Is(err, fault.Internal) || !strings.Contains(fault.As(err).Hint, "the tree beside it still holds the work") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
