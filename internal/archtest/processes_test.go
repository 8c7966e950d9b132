package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// starters are the packages that may start programs, and what they start.
var starters = map[string]string{
	"internal/gitx":            "git, hardened",
	"internal/cli":             "the pager, and gh for an issue",
	"internal/confine/holder":  "the holder, a second ambit",
	"internal/confine/native":  "a second ambit that builds the namespaces",
	"internal/confine/probe":   "inside the boundary: a second ambit and a shell, which it tries",
	"internal/sandbox/overlay": "a second ambit that tries a mount before it is promised",
}

func TestOnlyTheseStartPrograms(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if floor, _ := floorOf(s.pkg); s.test || floor == "tool" || floor == "test" {
			continue
		}
		if slices.Contains(s.imports, "os/exec") && starters[s.pkg] == "" {
			t.Errorf("%s imports os/exec: only %v start programs", s.file, keys(starters))
		}
	}
}

// TestOnlyGitxStartsGit: a git that is started anywhere else runs what a hostile
// repository configures (V28, V29).
func TestV28_OnlyGitxStartsGit(t *testing.T) {
	t.Parallel()
	calls(t, func(s source, call *ast.CallExpr, name string) {
		if s.pkg == "internal/gitx" || name != "exec.Command" && name != "exec.CommandContext" {
			return
		}
		for _, arg := range call.Args[:min(2, len(call.Args))] {
			if lit, ok := arg.(*ast.BasicLit); ok {
				if text, err := strconv.Unquote(lit.Value); err == nil && filepath.Base(text) == "git" {
					t.Errorf("%s starts git; internal/gitx does that, hardened", s.file)
				}
			}
		}
	})
}

// forbidden calls, each with what to use instead.
var forbidden = map[string]string{
	"context.WithCancel":  "context.WithCancelCause, so that whoever is stopped can say why",
	"context.WithTimeout": "context.WithTimeoutCause",
	"filepath.Walk":       "fsop's walk over a held descriptor: names race (golang/go#70007)",
	"filepath.WalkDir":    "fsop's walk over a held descriptor: names race (golang/go#70007)",
	"os.RemoveAll":        "fsop's remove over a held descriptor: it never follows what a sandbox planted",
}

// excepted are calls that are right where they are, with the reason.
var excepted = map[string]string{
	"internal/gitx/importer.go os.RemoveAll":              "its quarantine, in ambit's own folder, before and after anything of a sandbox is in it",
	"internal/apply/git/result.go os.RemoveAll":           "its work folder, in ambit's own folder, of files that ambit wrote",
	"internal/apply/git/target.go os.RemoveAll":           "its work folder, in ambit's own folder, of files that ambit wrote",
	"internal/confine/probe/inside_linux.go os.RemoveAll": "runs inside the boundary, on a folder it made",
}

func TestForbiddenCalls(t *testing.T) {
	t.Parallel()
	calls(t, func(s source, _ *ast.CallExpr, name string) {
		if use := forbidden[name]; use != "" && excepted[s.file+" "+name] == "" {
			t.Errorf("%s calls %s; use %s", s.file, name, use)
		}
	})
}

// calls visits every call of a package function, outside of tests.
func calls(t *testing.T, visit func(s source, call *ast.CallExpr, name string)) {
	t.Helper()
	for _, s := range sources(t) {
		if floor, _ := floorOf(s.pkg); s.test || floor == "tool" || floor == "test" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(t), s.file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
					if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil {
						visit(s, call, x.Name+"."+sel.Sel.Name)
					}
				}
			}
			return true
		})
	}
}

// TestMainIsTenLines: everything is behind cli.Main, so that tests can run it.
func TestMainIsTenLines(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.pkg == "cmd/ambit" && len(s.imports) > 2 {
			t.Errorf("%s imports %s", s.file, strings.Join(s.imports, ", "))
		}
	}
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
