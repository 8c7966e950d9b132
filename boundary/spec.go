package boundary

import (
	"slices"

	"github.com/ambit-run/ambit/fault"
)

// What a spec has unless told otherwise, and what it always says of itself.
const (
	DefaultImage     = "python:3.12-slim"
	DefaultMemory    = "4g"
	DefaultCPUs      = "2.0"
	DefaultPIDs      = 512
	DefaultEnvPrefix = "AMBIT"
	Provenance       = "declared staging boundary; not a running container"
)

// Where mounts appear inside the container.
const (
	WorkspaceTarget = "/workspace"
	RepoTarget      = "/repo"
	EvidenceTarget  = "/evidence"
)

// Mode says whether a mount may be written.
type Mode string

// Mount modes.
const (
	ReadWrite Mode = "rw"
	ReadOnly  Mode = "ro"
)

// Network says what a container can reach.
type Network string

// Network modes.
const (
	NetworkNone Network = "none" // only loopback
	NetworkHost Network = "host" // what the machine can reach
)

// Spec is the declared boundary of a task. New and Parse return checked ones; every
// function that renders a Spec checks it again.
type Spec struct {
	TaskID       string      `json:"task_id"`
	Image        string      `json:"image"`
	Workdir      string      `json:"workdir"` // absolute path of the working tree
	Mounts       []Mount     `json:"mounts"`
	ReadOnlyRoot bool        `json:"read_only_root"`
	Network      Network     `json:"network"`
	Resources    Resources   `json:"resources"`
	Environment  Environment `json:"environment"`
	CapDrop      []string    `json:"cap_drop"`
	SecurityOpt  []string    `json:"security_opt"`
	Command      []string    `json:"command"`
	Created      never       `json:"created"`
	Provenance   string      `json:"provenance"`
	SpecHash     string      `json:"spec_hash"` // see Hash
}

// never is a claim that no declared spec can make: it is false whatever is done.
type never struct{}

// MarshalJSON says false.
func (never) MarshalJSON() ([]byte, error) { return []byte("false"), nil }

// Mount is one place of the machine that shows inside.
type Mount struct {
	Source  string `json:"source"` // absolute, on the machine
	Target  string `json:"target"` // absolute, inside
	Mode    Mode   `json:"mode"`
	Purpose string `json:"purpose"`
}

// Resources are the ceilings of a container.
type Resources struct {
	Memory string `json:"memory"` // a number and b, k, m, g or t, as docker writes it
	CPUs   string `json:"cpus"`   // a decimal number of processors
	PIDs   int    `json:"pids"`   // processes and threads
}

// Options are what a caller may say about a spec. The zero value is the default.
type Options struct {
	Image        string // DefaultImage
	Repo         string // absolute path of a reference checkout, mounted read-only; "" = none
	Evidence     string // absolute path of an immutable log, mounted read-only; "" = none
	Environment  Environment
	EnvPrefix    string // of the task's variable and, in lower case, of the container; DefaultEnvPrefix
	Network      Network
	Memory, CPUs string
	PIDs         int      // 0 = DefaultPIDs
	Command      []string // nil = sleep infinity
}

// New returns the spec of a task whose working tree is workdir. The working tree is
// the only writable path. It refuses with code Invalid what Check refuses.
func New(taskID, workdir string, o Options) (Spec, error) {
	s := Spec{
		TaskID: taskID, Image: or(o.Image, DefaultImage), Workdir: workdir,
		Mounts:       []Mount{{workdir, WorkspaceTarget, ReadWrite, "working tree"}},
		ReadOnlyRoot: true, Network: or(o.Network, NetworkNone),
		Resources:   Resources{Memory: or(o.Memory, DefaultMemory), CPUs: or(o.CPUs, DefaultCPUs), PIDs: or(o.PIDs, DefaultPIDs)},
		CapDrop:     []string{"ALL"},
		SecurityOpt: []string{"no-new-privileges:true"},
		Command:     slices.Clone(o.Command), Provenance: Provenance,
	}
	if o.Command == nil {
		s.Command = []string{"sleep", "infinity"}
	}
	if o.Repo != "" {
		s.Mounts = append(s.Mounts, Mount{o.Repo, RepoTarget, ReadOnly, "reference checkout"})
	}
	if o.Evidence != "" {
		s.Mounts = append(s.Mounts, Mount{o.Evidence, EvidenceTarget, ReadOnly, "immutable log"})
	}
	var f findings
	prefix := or(o.EnvPrefix, DefaultEnvPrefix)
	if !prefixForm.MatchString(prefix) {
		f.add("write it in ASCII letters, digits and underscores, a letter first, such as AMBIT", "invalid environment prefix: %s", prefix)
	}
	s.Environment = Environment{{"PYTHONUNBUFFERED", "1"}, {prefix + taskSuffix, taskID}}
	s.Environment.extend(&f, o.Environment)
	s.check(&f)
	if err := f.err(); err != nil {
		return Spec{}, err
	}
	var err error
	if s.SpecHash, err = s.Hash(); err != nil {
		return Spec{}, fault.Wrap(fault.Invalid, op, err)
	}
	return s, nil
}

// or is value, or what stands for it where nothing was said.
func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}
