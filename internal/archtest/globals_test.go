package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// handedIn are what nobody below the faces takes from the process by itself: a test
// could not set it, and what an embedding program says would not count.
var handedIn = map[string]string{
	"time.Now": "Deps.Now", "time.Since": "Deps.Now", "time.Until": "Deps.Now",
	"os.Environ": "Config.Environ or the request's", "os.Getenv": "Config.Environ", "os.LookupEnv": "Config.Environ",
	"os.UserHomeDir": "Config.HomeDir", "os.Getuid": "Config.UID", "os.Geteuid": "Config.UID",
}

// TestTheEngineIsHandedItsSurroundings: clock, environment and identity come
// through Config and Deps, to the engine and to the nouns below it.
func TestTheEngineIsHandedItsSurroundings(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, s := range sources(t) {
		floor, _ := floorOf(s.pkg)
		if s.test || (floor != "engine" && floor != "noun") {
			continue
		}
		looked++
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(t), s.file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok {
				if instead := handedIn[x.Name+"."+sel.Sel.Name]; instead != "" {
					t.Errorf("%s uses %s.%s; it is handed in as %s", s.file, x.Name, sel.Sel.Name, instead)
				}
			}
			return true
		})
	}
	if looked < 20 {
		t.Errorf("looked at %d files only: the floors have other names now", looked)
	}
}
