package boundary

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/ambit-run/ambit/fault"
)

// MaxSpecBytes bounds a spec's JSON. The arguments of a program are bounded by
// 2 MiB on Linux, so nothing larger could be carried out.
const MaxSpecBytes = 1 << 20

// Parse reads a spec from JSON, as ambit boundary spec prints it: one object with
// every field of Spec and no other, each once. Nothing that is left out is filled
// in, since a spec without a protection must not look like one that has it. The
// hash must be that of the spec. What ambit's own JSON begins with, ok and
// exit_code, is passed over. Refusals have code Invalid.
func Parse(text []byte) (Spec, error) {
	if len(text) > MaxSpecBytes {
		return Spec{}, fault.New(fault.Invalid, op, "the spec is larger than %d bytes", MaxSpecBytes).WithHint("a spec is what ambit boundary spec prints")
	}
	if !utf8.Valid(text) {
		return Spec{}, fault.New(fault.Invalid, op, "the spec is not UTF-8").WithHint("a spec is what ambit boundary spec prints")
	}
	value, err := readJSON(text)
	if err != nil {
		return Spec{}, fault.New(fault.Invalid, op, "the spec is not JSON").WithCause(err).WithHint("a spec is what ambit boundary spec prints")
	}
	var f findings
	s := readSpec(&f, value)
	if len(f.list) == 0 {
		s.check(&f)
	}
	if len(f.list) == 0 {
		s.checkHash(&f)
	}
	if err := f.err(); err != nil {
		return Spec{}, err
	}
	return s, nil
}

func readSpec(f *findings, value any) Spec {
	o := f.object("the spec", value)
	s := Spec{
		TaskID: o.text("task_id"), Image: o.text("image"), Workdir: o.text("workdir"), ReadOnlyRoot: o.truth("read_only_root"),
		Network: Network(o.text("network")), CapDrop: o.texts("cap_drop"), SecurityOpt: o.texts("security_opt"),
		Command: o.texts("command"), Provenance: o.text("provenance"), SpecHash: o.text("spec_hash"),
	}
	for i, v := range o.list("mounts") {
		m := f.object(fmt.Sprintf("mounts[%d]", i), v)
		s.Mounts = append(s.Mounts, Mount{m.text("source"), m.text("target"), Mode(m.text("mode")), m.text("purpose")})
		m.end()
	}
	r := f.object("resources", o.take("resources"))
	s.Resources = Resources{Memory: r.text("memory"), CPUs: r.text("cpus"), PIDs: r.number("pids")}
	r.end()
	e := f.object("environment", o.take("environment"))
	for _, m := range e.members {
		s.Environment = append(s.Environment, Variable{m.key, e.text(m.key)})
	}
	if o.truth("created") {
		f.add("a spec declares a container; it describes none that runs", "created is true")
	}
	o.pass("ok", true)
	o.pass("exit_code", json.Number("0"))
	o.end()
	return s
}
