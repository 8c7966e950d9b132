package boundary

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-run/ambit/fault"
)

// vector is one case that another implementation has decided.
type vector struct {
	Name  string
	Input struct {
		TaskID      string          `json:"task_id"`
		Workdir     string          `json:"workdir"`
		Repo        string          `json:"repo_mount"`
		Evidence    string          `json:"evidence_dir"`
		Environment json.RawMessage `json:"environment"`
	}
	Spec   json.RawMessage
	Argv   []string `json:"docker_argv"`
	Report json.RawMessage
	Error  *string
}

func vectors(t testing.TB) []vector {
	t.Helper()
	raw, err := os.ReadFile("testdata/boundary.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []vector }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) != 10 {
		t.Fatalf("%d vectors, want 10", len(file.Cases))
	}
	return file.Cases
}

// options are what a vector's input says, with the prefix that they were made with.
func (v vector) options(t testing.TB) Options {
	t.Helper()
	o := Options{Repo: v.Input.Repo, Evidence: v.Input.Evidence, EnvPrefix: "HIDRATADOR"}
	if len(v.Input.Environment) > 0 {
		value, err := readJSON(v.Input.Environment)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range value.(members) {
			o.Environment = append(o.Environment, Variable{m.key, m.value.(string)})
		}
	}
	return o
}

// exactly renders a value as text, so that the order of keys counts.
func exactly(t testing.TB, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// compact is a vector's own text. Its writer escapes what is not ASCII.
func compact(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, bytes.ReplaceAll(raw, []byte(`\u00e9`), []byte("é"))); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			s, err := New(v.Input.TaskID, v.Input.Workdir, v.options(t))
			if v.Error != nil {
				if err == nil || fault.As(err).Message != *v.Error || !fault.Is(err, fault.Invalid) {
					t.Fatalf("got %v, want %q", err, *v.Error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(compact(t, v.Spec), exactly(t, s)); diff != "" {
				t.Errorf("spec: %s", diff)
			}
			if diff := cmp.Diff(compact(t, v.Report), exactly(t, Report(s))); diff != "" {
				t.Errorf("report: %s", diff)
			}
			// A spec that is read back renders the same.
			back, err := Parse(v.Spec)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []Spec{s, back} {
				argv, err := DockerArgv(s, "")
				if diff := cmp.Diff(v.Argv, argv); diff != "" || err != nil {
					t.Errorf("argv: %v %s", err, diff)
				}
			}
		})
	}
}
