package boundary

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// taskSuffix ends the name of the variable that holds the task's id.
const taskSuffix = "_TASK_ID"

var (
	variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// A prefix begins a container's name, too, where docker wants a letter or digit
	// and a variable no digit.
	prefixForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
)

// Variable is one variable of a container's environment.
type Variable struct{ Name, Value string }

// Environment is a container's environment in the order in which it is rendered. In
// JSON it is an object.
type Environment []Variable

// Get returns the value of a variable.
func (e Environment) Get(name string) (string, bool) {
	for _, v := range e {
		if v.Name == name {
			return v.Value, true
		}
	}
	return "", false
}

// MarshalJSON writes an object that keeps the order.
func (e Environment) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // whoever marshals the whole decides
	b.WriteByte('{')
	for i, v := range e {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(v.Name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(v.Value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// extend lays the caller's variables over the defaults: one that is there keeps its
// place and gets the new value.
func (e *Environment) extend(f *findings, given Environment) {
	for i, v := range given {
		if slices.ContainsFunc(given[:i], func(before Variable) bool { return before.Name == v.Name }) {
			f.add("say it once", "environment variable is there twice: %s", v.Name)
			continue
		}
		at := slices.IndexFunc(*e, func(x Variable) bool { return x.Name == v.Name })
		if at < 0 {
			*e = append(*e, v)
			continue
		}
		(*e)[at].Value = v.Value
	}
}

// check refuses names and values that cannot be passed, and an environment that
// does not say, or says twice, which task it is for.
func (e Environment) check(f *findings, taskID string) {
	tasks := 0
	for i, v := range e {
		switch {
		case !variableForm.MatchString(v.Name):
			f.add("a name is ASCII letters, digits and underscores, and does not begin with a digit", "invalid environment variable name: %s", v.Name)
		case slices.ContainsFunc(e[:i], func(before Variable) bool { return before.Name == v.Name }):
			f.add("say it once", "environment variable is there twice: %s", v.Name)
		default:
			f.text("environment variable "+v.Name, v.Value, maxArg-len(v.Name)-1)
		}
		if isTask(v, taskID) {
			tasks++
		}
	}
	switch {
	case tasks == 0:
		f.add("the variable PREFIX_TASK_ID holds the task's id and cannot be set to something else", "no environment variable names the task %s", taskID)
	case tasks > 1:
		f.add("leave out the variable of yours that ends in _TASK_ID", "two environment variables name the task %s", taskID)
	}
}

// isTask reports whether a variable is the one that names the task.
func isTask(v Variable, taskID string) bool {
	prefix, ok := strings.CutSuffix(v.Name, taskSuffix)
	return ok && v.Value == taskID && prefixForm.MatchString(prefix)
}

// EnvPrefix returns the prefix that the spec was made with: that of the variable
// that names the task.
func (s Spec) EnvPrefix() string {
	for _, v := range s.Environment {
		if isTask(v, s.TaskID) {
			return strings.TrimSuffix(v.Name, taskSuffix)
		}
	}
	return DefaultEnvPrefix
}
