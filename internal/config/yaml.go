package config

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/typo"
)

func lookup(table []key, name string) (key, bool) {
	for _, k := range table {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}

// known names the keys that may stand in the file, or the one that was meant.
func known(table []key, name string, project bool) string {
	var names []string
	for _, k := range table {
		if !project || k.project != nil {
			names = append(names, k.name)
		}
	}
	if near := typo.Nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return "known keys: " + strings.Join(names, ", ")
}

// scalars reads a value as strings: one, or for lists any number.
func scalars(k key, n *yaml.Node) (values []string, wrong string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if !k.list {
		if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
			return nil, "one value is needed"
		}
		return []string{n.Value}, ""
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return []string{}, ""
	case n.Kind == yaml.ScalarNode:
		return []string{n.Value}, ""
	case n.Kind != yaml.SequenceNode:
		return nil, "a list is needed"
	}
	values = []string{}
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return nil, "each item must be one value"
		}
		values = append(values, item.Value)
	}
	return values, ""
}

// document reads the one document of a file; nil = the file is empty.
func document(path string, src []byte) (*yaml.Node, *fault.Diagnostic) {
	wrong := func(line, column int, summary string) *fault.Diagnostic {
		return &fault.Diagnostic{
			Severity: fault.SeverityError, File: path, Line: line, Column: column, Summary: summary,
			Hint: "write one \"key: value\" per line",
		}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(src))
	if err != nil {
		return nil, wrong(0, 0, "not YAML: "+err.Error())
	}
	var doc, second yaml.Node
	err = loader.Load(&doc)
	var at *yaml.LoadError
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil //nolint:nilnil // an empty file is no document and no mistake
	case errors.As(err, &at):
		return nil, wrong(at.Mark.Line, at.Mark.Column, "not YAML: "+at.Message)
	case err != nil:
		return nil, wrong(0, 0, "not YAML: "+err.Error())
	}
	if err := loader.Load(&second); err == nil {
		return nil, wrong(second.Line, 1, "a second document; a configuration file has one")
	}
	if len(doc.Content) == 0 || doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].Tag == "!!null" {
		return nil, nil //nolint:nilnil // only comments, likewise
	}
	return doc.Content[0], nil
}
