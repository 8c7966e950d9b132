package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/ambit-run/ambit/"

// source is one Go file and what it imports.
type source struct {
	file    string // relative to the root
	pkg     string // its folder
	test    bool   // a test, or a package that only tests import
	imports []string
}

// testOnly are the packages that hold tests for others to run.
var testOnly = []string{"internal/store/storetest", "internal/sandbox/conformance", "internal/gitx/gittest", "internal/fsop/fsoptest", "acceptance", "internal/archtest"}

func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(dir))
}

// sources reads every Go file of the module.
func sources(t *testing.T) []source {
	t.Helper()
	top := root(t)
	var out []source
	err := filepath.WalkDir(top, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, full)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || rel == "bin" || rel == "examples" || rel == "tools") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), full, nil, parser.ImportsOnly)
		if err != nil {
			return fmt.Errorf("%s: %w", rel, err)
		}
		s := source{file: rel, pkg: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go")}
		for _, p := range testOnly {
			s.test = s.test || s.pkg == p || strings.HasPrefix(s.pkg, p+"/")
		}
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, p)
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("only %d Go files found below %s", len(out), top)
	}
	return out
}

// The floors, from the ground up. A package stands on the floor of its longest prefix.
var floors = map[string]string{
	"fault": "noun", "resource": "noun", "graph": "noun", "ticket": "noun", "identity": "noun",
	"authority": "noun", "changeset": "noun", "boundary": "noun",
	"internal/bounded": "pure", "internal/canonjson": "pure", "internal/topo": "pure", "internal/typo": "pure",
	"internal/fsop": "ground", "internal/gitx": "ground", "internal/procid": "ground",
	"engine": "engine", "bound": "bound",
	"internal/store": "technology", "internal/sandbox": "technology", "internal/confine": "technology",
	"internal/apply": "technology", "internal/discover": "technology",
	"internal/config": "face", "internal/cli": "face", "internal/mcpserver": "face", "internal/httpserver": "face",
	"cmd": "main", "scripts": "tool", "acceptance": "test", "internal/archtest": "test",
}

// allowed says on which floors each floor may stand, beside its own package.
var allowed = map[string][]string{
	"pure":       {"pure"},
	"noun":       {"noun", "pure"},
	"ground":     {"ground", "noun", "pure"},
	"engine":     {"noun", "pure", "ground"},
	"bound":      {"noun", "pure", "ground"},
	"technology": {"engine", "noun", "pure", "ground"}, // and parts of its own family, see members
	"face":       {"face", "engine", "noun", "pure", "ground"},
	"main":       {"face"},
	"tool":       {},
}

// reasons are what somebody who breaks a rule must read.
var reasons = map[string]string{
	"pure":       "it computes, and knows nobody",
	"noun":       "nouns are data and rules; they know nouns, canonjson and topo only",
	"ground":     "the ground carries whoever stands above and knows none of them",
	"engine":     "the engine declares the interfaces it needs; technologies are handed to it",
	"bound":      "the file tools stand on fsop and the nouns",
	"technology": "no technology knows another; what two of them need belongs on the ground",
	"face":       "a face parses, calls the engine and renders; only wire.go knows technologies",
	"main":       "main only leaves with what the face returns",
	"tool":       "scripts are no part of the house",
}

func floorOf(pkg string) (floor, prefix string) {
	for p, f := range floors {
		if (pkg == p || strings.HasPrefix(pkg, p+"/")) && len(p) > len(prefix) {
			floor, prefix = f, p
		}
	}
	return floor, prefix
}

func TestFloors(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		floor, family := floorOf(s.pkg)
		if floor == "" {
			t.Errorf("%s stands on no floor: name %q in floors", s.file, s.pkg)
			continue
		}
		if s.test || floor == "test" {
			continue
		}
		for _, p := range s.imports {
			target, ours := strings.CutPrefix(p, module)
			if !ours {
				continue
			}
			to, toFamily := floorOf(target)
			switch {
			case slices.Contains(allowed[floor], to):
			case floor == "technology" && toFamily == family: // within the family: TestTechnologiesKnowNoOther
			case floor == "face" && to == "technology" && strings.HasPrefix(path.Base(s.file), "wire"):
			default:
				t.Errorf("%s (%s) must not import %s (%s): %s", s.file, floor, target, to, reasons[floor])
			}
		}
	}
}

// members are the technologies of each family: what the engine can be handed, and
// what no other member may know. Everything else in a family is a part that its
// members share.
var members = []string{
	"internal/store/sqlite", "internal/store/postgres",
	"internal/sandbox/overlay", "internal/sandbox/worktree", "internal/sandbox/copytree", "internal/sandbox/none",
	"internal/confine/native", "internal/confine/landlock", "internal/confine/docker", "internal/confine/none",
	"internal/apply/tree", "internal/apply/git",
}

// built says where one member is built on another, and why.
var built = map[string]string{
	"internal/sandbox/worktree internal/sandbox/copytree": "a worktree is a copy that is filled by a checkout (copytree.NewFilled); checkpoints, changes and restores are the same",
}

// member returns the technology that a package belongs to, or "".
func member(pkg string) string {
	for _, m := range members {
		if pkg == m || strings.HasPrefix(pkg, m+"/") {
			return m
		}
	}
	return ""
}

func TestTechnologiesKnowNoOther(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range sources(t) {
		from, family := floorOf(s.pkg)
		seen[member(s.pkg)] = true
		if from != "technology" || s.test || s.pkg == family { // the family's own list names its members
			continue
		}
		for _, p := range s.imports {
			target, ours := strings.CutPrefix(p, module)
			to := member(target)
			if !ours || to == "" || to == member(s.pkg) || built[member(s.pkg)+" "+to] != "" {
				continue
			}
			t.Errorf("%s must not import %s: %s", s.file, target, reasons["technology"])
		}
	}
	if len(seen) < 5 {
		t.Fatalf("only these technologies were found: %v", seen)
	}
}

// impure are what no noun may import: nouns do no I/O and keep no clock.
var impure = []string{"os", "net", "syscall", "log", "database/sql", "io/ioutil", "runtime", "path/filepath", "golang.org/x/sys", "modernc.org", "math/rand", "crypto/rand"}

func TestNounsArePure(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, s := range sources(t) {
		if floor, _ := floorOf(s.pkg); s.test || floor != "noun" && floor != "pure" {
			continue
		}
		seen++
		for _, p := range s.imports {
			for _, bad := range impure {
				if (p == bad || strings.HasPrefix(p, bad+"/")) && p != "net/url" {
					t.Errorf("%s imports %s: %s", s.file, p, reasons["noun"])
				}
			}
		}
	}
	if seen == 0 {
		t.Fatal("no noun was looked at")
	}
}
