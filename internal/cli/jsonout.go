package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// wantsJSON looks for --json among the flags before "--". It decides only how a
// command line that cannot be parsed is reported.
func wantsJSON(args []string) bool {
	for _, a := range args {
		switch {
		case a == "--":
			return false
		case a == "--json", a == "--json=true":
			return true
		}
	}
	return false
}

// errorObject is the "error" of a failed command's JSON object.
type errorObject struct {
	Code        string             `json:"code"`
	Op          string             `json:"op"`
	Message     string             `json:"message"`
	Hint        string             `json:"hint"`
	Paths       []string           `json:"paths"`
	Diagnostics []fault.Diagnostic `json:"diagnostics"`
}

// emit prints the one object of a command that did its work. v marshals to an
// object; "ok" and "exit_code" come first.
func (d *deps) emit(v any, exit int) error { return d.object(true, exit, nil, v) }

func (d *deps) emitError(e errorObject, exit int, fields any) error {
	return d.object(false, exit, &e, fields)
}

func (d *deps) object(ok bool, exit int, failure *errorObject, fields any) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"ok":%t,"exit_code":%d`, ok, exit)
	for _, part := range []struct {
		name  string
		value any
	}{{"error", failure}, {"", fields}} {
		if part.value == nil || part.value == (*errorObject)(nil) {
			continue
		}
		raw, err := marshal(part.value)
		if err != nil {
			return fault.Wrap(fault.Internal, "render JSON", err)
		}
		if part.name != "" {
			fmt.Fprintf(&b, `,%q:%s`, part.name, raw)
			continue
		}
		if inner := bytes.TrimSuffix(bytes.TrimPrefix(raw, []byte("{")), []byte("}")); len(inner) > 0 {
			b.WriteByte(',')
			b.Write(inner)
		}
	}
	b.WriteString("}\n")
	_, err := d.stdout.Write(b.Bytes())
	return err
}

// marshal is json.Marshal without the escaping that is meant for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// indented prints a value that is data by itself, for a person or a file.
func (d *deps) indented(v any) error {
	enc := json.NewEncoder(d.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// describe makes the error object of an error.
func describe(err error) errorObject {
	o := errorObject{Paths: []string{}, Diagnostics: []fault.Diagnostic{}}
	var usage *usageError
	var failed *commandFailed
	switch {
	case errors.As(err, &usage):
		o.Code, o.Message, o.Hint = "usage", usage.message, usage.hint
		return o
	case errors.As(err, &failed):
		o.Code, o.Message, o.Hint = "failed", failed.Error(), failed.hint
		return o
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		f = fault.As(err)
	}
	o.Code, o.Op, o.Hint = string(f.Code), f.Op, f.Hint
	o.Message = strings.TrimPrefix(f.Error(), f.Op+": ")
	for _, more := range joined(err)[1:] {
		o.Message += "; besides, " + more.Error()
	}
	o.Paths = append(o.Paths, f.Paths...)
	o.Diagnostics = append(o.Diagnostics, f.Diagnostics...)
	return o
}

// joined returns the errors that were joined at the top, the first one first; a
// clean-up that failed, too, must not be lost.
func joined(err error) []error {
	for {
		switch x := err.(type) { //nolint:errorlint // the layers themselves are looked at
		case interface{ Unwrap() []error }:
			all := x.Unwrap()
			return append(joined(all[0]), all[1:]...)
		case *withFields:
			err = x.err
		default:
			return []error{err}
		}
	}
}
