package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"go.yaml.in/yaml/v4"

	"github.com/ambit-run/ambit/fault"
)

// maxFile is the largest configuration file that is read, in bytes.
const maxFile = 1 << 20

// readLayer lays one file over c. A file that is not there is no layer.
func readLayer(c *Config, path string, project bool, found *[]fault.Diagnostic) error {
	src, err := readFile(path, project)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		code := fault.Unavailable
		if errors.Is(err, fs.ErrPermission) {
			code = fault.Denied
		}
		var bad *fault.Error
		if errors.As(err, &bad) {
			return bad
		}
		return fault.Wrap(code, "read configuration", err)
	}
	*found = append(*found, parse(c, path, src, project)...)
	return nil
}

// readFile reads a regular file of at most maxFile bytes. It never blocks on a
// FIFO, and follows no link at the end of a project's path.
func readFile(path string, project bool) ([]byte, error) {
	flags := os.O_RDONLY | syscall.O_NONBLOCK
	if project {
		flags |= syscall.O_NOFOLLOW
	}
	f, err := os.OpenFile(path, flags, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fault.New(fault.Invalid, "read configuration", "%s is a link", path).
			WithHint("a project's configuration must be a file of its own; replace the link or remove it")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fault.New(fault.Invalid, "read configuration", "%s is not a regular file", path).WithHint("replace it by a file, or remove it")
	}
	src, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(src) > maxFile {
		return nil, fault.New(fault.Invalid, "read configuration", "%s is larger than %d bytes", path, maxFile).WithHint("a configuration file has at most 1 MiB")
	}
	return src, nil
}

// parse lays the file's text over c and returns what it found.
func parse(c *Config, path string, src []byte, project bool) []fault.Diagnostic {
	var found []fault.Diagnostic
	report := func(sev fault.Severity, n *yaml.Node, summary, hint string) {
		d := fault.Diagnostic{Severity: sev, File: path, Summary: summary, Hint: hint}
		if n != nil {
			d.Line, d.Column = n.Line, n.Column
		}
		found = append(found, d)
	}

	top, wrong := document(path, src)
	if wrong != nil {
		return []fault.Diagnostic{*wrong}
	}
	if top == nil {
		return nil
	}
	if top.Kind != yaml.MappingNode {
		report(fault.SeverityError, top, "the file is not a list of keys and values", "write one \"key: value\" per line")
		return found
	}

	table := keys()
	seen := map[string]int{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		name, value := top.Content[i], top.Content[i+1]
		if line, dup := seen[name.Value]; dup {
			report(fault.SeverityError, name, fmt.Sprintf("%s was set before, in line %d", name.Value, line), "keep one of the two")
			continue
		}
		seen[name.Value] = name.Line

		k, ok := lookup(table, name.Value)
		if !ok || project && k.project == nil {
			sev, summary := fault.SeverityError, fmt.Sprintf("unknown key %q", name.Value)
			if ok {
				summary = fmt.Sprintf("%s cannot be set by a project", name.Value)
			}
			if project {
				sev, summary = fault.SeverityWarning, summary+"; the line has no effect"
			}
			report(sev, name, summary, known(table, name.Value, project))
			continue
		}
		values, wrong := scalars(k, value)
		if wrong != "" {
			report(fault.SeverityError, value, k.name+": "+wrong, "")
			continue
		}
		if summary, hint := k.check(values); summary != "" {
			report(fault.SeverityError, value, summary, hint)
			continue
		}
		if project {
			allowed, refused := k.project(k.get(c), values)
			if refused != "" {
				report(fault.SeverityWarning, value, k.name+" is not taken from here: "+refused, "")
				continue
			}
			values = allowed
		}
		if err := k.set(c, values); err != nil {
			report(fault.SeverityError, value, k.name+": "+err.Error(), "")
			continue
		}
		c.Origins[k.name] = fmt.Sprintf("%s:%d", path, name.Line)
	}
	return found
}
