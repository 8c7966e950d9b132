package archtest

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, rel string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root(t), rel))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// required lists the modules that a go.mod requires.
func required(mod string) []string {
	var out []string
	inside := false
	for line := range strings.SplitSeq(mod, "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 2 && fields[0] == "require" && fields[1] == "(":
			inside = true
		case len(fields) == 1 && fields[0] == ")":
			inside = false
		case inside && len(fields) >= 2:
			out = append(out, fields[0])
		case len(fields) >= 3 && fields[0] == "require":
			out = append(out, fields[1])
		}
	}
	return out
}

var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]*) \\|")

// TestEveryModuleHasItsReason: docs/dependencies.md names each module of go.mod
// with why it is there, and no other.
func TestEveryModuleHasItsReason(t *testing.T) {
	t.Parallel()
	named := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(read(t, "docs/dependencies.md"), -1) {
		named[m[1]] = strings.TrimSpace(m[2])
	}
	mods := required(read(t, "go.mod"))
	if len(mods) < 10 {
		t.Fatalf("only %d modules found in go.mod", len(mods))
	}
	for _, m := range mods {
		if named[m] == "" {
			t.Errorf("docs/dependencies.md gives no reason for %s", m)
		}
	}
	for m := range named {
		if !slices.Contains(mods, m) {
			t.Errorf("docs/dependencies.md names %s, which go.mod does not require", m)
		}
	}
}

// linked is a module that is in the binary.
type linked struct{ Path, Version, Dir string }

// linkedModules asks the go command what cmd/ambit is made of.
func linkedModules(t *testing.T) []linked {
	t.Helper()
	cmd := exec.Command("go", "list", "-mod=readonly", "-deps", "-json=Module", "./cmd/ambit")
	cmd.Dir = root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if strings.Contains(stderr.String(), "module lookup disabled") || strings.Contains(stderr.String(), "cannot find module") {
			t.Skipf("this user's module cache lacks what go.mod names, and nothing may be downloaded: %s", strings.TrimSpace(firstLine(stderr.String())))
		}
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	seen := map[string]linked{}
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p struct {
			Module *struct {
				linked
				Main bool
			}
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module != nil && !p.Module.Main {
			seen[p.Module.Path] = p.Module.linked
		}
	}
	var mods []linked
	for _, m := range seen {
		mods = append(mods, m)
	}
	slices.SortFunc(mods, func(a, b linked) int { return strings.Compare(a.Path, b.Path) })
	return mods
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// licences we may link, told by words (in lower case) that it alone has
// among those below it.
var licences = []struct{ name, words string }{
	{"Apache-2.0", "apache license version 2.0"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"BSD-3-Clause", "neither the name"},
	{"BSD-3-Clause", "spdx-license-identifier: bsd-3-clause or gpl-2.0-only"},
	{"BSD-2-Clause", "redistribution and use in source and binary forms"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose"},
}

var spaces = regexp.MustCompile(`\s+`)

// licenceOf tells a module's licence from its file.
func licenceOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(upper, "LICENSE") && !strings.HasPrefix(upper, "LICENCE") && !strings.HasPrefix(upper, "COPYING") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ToLower(spaces.ReplaceAllString(string(data), " "))
		for _, l := range licences {
			if strings.Contains(text, l.words) {
				return l.name
			}
		}
	}
	return ""
}

// TestLicences: every module in the binary has a licence of the list, and NOTICE
// names the module with it.
func TestLicences(t *testing.T) {
	t.Parallel()
	mods := linkedModules(t)
	if len(mods) == 0 {
		t.Fatal("no module is linked")
	}
	notice := read(t, "NOTICE")
	for _, m := range mods {
		l := licenceOf(t, m.Dir)
		if l == "" {
			t.Errorf("%s %s: no licence of the allow list in %s", m.Path, m.Version, m.Dir)
			continue
		}
		if !regexp.MustCompile(`(?m)^\s+` + regexp.QuoteMeta(m.Path) + `\s+` + regexp.QuoteMeta(l) + `$`).MatchString(notice) {
			t.Errorf("NOTICE lacks the line %q", "  "+m.Path+"  "+l)
		}
	}
}

// TestToolsStayOutOfTheMainModule: what only developers need is in tools/go.mod.
func TestToolsStayOutOfTheMainModule(t *testing.T) {
	t.Parallel()
	if regexp.MustCompile(`(?m)^tool\b`).MatchString(read(t, "go.mod")) {
		t.Error("go.mod has a tool line; it belongs into tools/go.mod")
	}
	if !slices.Contains(required(read(t, "tools/go.mod")), "github.com/golangci/golangci-lint/v2") {
		t.Error("tools/go.mod does not pin the linter")
	}
}
