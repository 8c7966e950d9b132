package engine

import (
	"context"
	"os"
	"time"
)

// Rung names a way to confine commands.
type Rung string

// Rungs. Auto is a request: native, else landlock. None is only ever chosen by
// the person.
const (
	RungAuto     Rung = "auto"
	RungNative   Rung = "native"
	RungLandlock Rung = "landlock"
	RungDocker   Rung = "docker"
	RungNone     Rung = "none"
)

// HomeMode says what a command finds in $HOME.
type HomeMode string

// Home modes.
const (
	HomeTools  HomeMode = "tools"  // a private writable home, the person's tool chains read-only over it, caches copy-on-write
	HomeHidden HomeMode = "hidden" // a private empty home
	HomeRO     HomeMode = "ro"     // the person's home read-only, secrets masked
)

// Network says what a command can reach.
type Network string

// Network modes.
const (
	NetworkNone Network = "none" // a network namespace with only loopback (rung 2: no socket but unix)
	NetworkHost Network = "host"
)

// CageSpec is everything a confinement needs to hold a plan's commands.
type CageSpec struct {
	Plan     string     `json:"plan"`
	PlanDir  string     `json:"plan_dir"`  // absolute; private home, caches, socket and lease live below it
	StateDir string     `json:"state_dir"` // $AMBIT_HOME; never visible inside
	Sandbox  []Entrance `json:"sandbox"`
	// Real are host paths of the sandboxed resources, which no command may write:
	// the proof tries them.
	Real    []string `json:"real,omitempty"`
	Home    HomeMode `json:"home"`
	HomeDir string   `json:"home_dir"` // the person's real home
	Path    string   `json:"path"`     // the person's $PATH
	Network Network  `json:"network"`
	// ReadWrite are host paths the person named to be writable inside.
	ReadWrite []string      `json:"read_write,omitempty"`
	Idle      time.Duration `json:"idle"` // how long the holder stays without an entry; 0 = 10 min
}

// Confiner is one rung of the ladder. Safe for concurrent use.
type Confiner interface {
	Rung() Rung
	// Probe says whether this machine offers the rung, with everything that is
	// missing and what to do about it.
	Probe(ctx context.Context) (Probe, error)
	// Open starts the plan's holder, or attaches to the live one if it holds
	// exactly this spec. A live holder with another spec and live entries is a
	// conflict naming them; without entries it is replaced.
	Open(ctx context.Context, spec CageSpec) (Cage, error)
	// Close ends the plan's holder, if one lives, and returns when its whole
	// process tree is gone. With live entries it is a conflict naming them
	// unless force is set. Safe to call when there is none.
	Close(ctx context.Context, spec CageSpec, force bool) error
	// Live lists the entries of the plan's holder; empty when none lives.
	Live(ctx context.Context, planDir string) ([]Entry, error)
}

// Beginner is a Confiner that can begin to open before the sandboxes are made.
type Beginner interface {
	// Begin starts what opening the plan takes whatever it will hold: of the spec
	// only Plan, PlanDir, Network and Idle are looked at. The next Open of the plan
	// in this process goes on from there, Close ends it, and so does the end of
	// this process. What fails here fails in Open again, and is said there.
	Begin(spec CageSpec)
}

// Cage is an open confinement of one plan.
type Cage interface {
	// Run starts a command inside and waits for it and its whole process tree.
	// When ctx ends the tree is killed; Run returns only after it is gone. A
	// command that ran and failed is an Exit, not an error.
	Run(ctx context.Context, cmd Command) (Exit, error)
	// Prove runs the probe from inside: one line for each thing that must fail
	// and each that must work.
	Prove(ctx context.Context) (Proof, error)
	// Release lets go of the holder, which stays until it is idle or closed.
	Release() error
}

// Command is one command to run inside.
type Command struct {
	Name string   // for Entry lists: "step n01-x", "exec", "try"
	Argv []string // Argv[0] is looked up in the PATH of Env
	Dir  string   // absolute path inside
	Env  []string // the complete environment, already allow-listed
	// Stdin, Stdout, Stderr are relayed through pipes; nil Stdin is empty.
	Stdin          *os.File
	Stdout, Stderr Writer
	// TTY asks for a private pseudo-terminal, joined to Terminal, which the
	// confiner puts into raw mode and restores. Output then goes to Terminal and,
	// if set, to Stdout as a copy. Resizes and signals are forwarded.
	TTY      bool
	Terminal *os.File
}

// Writer is where output goes; io.Writer, named here to keep the struct plain.
type Writer interface{ Write(p []byte) (int, error) }

// Exit is how a command ended.
type Exit struct {
	Code     int           `json:"code"`             // exit status; 128+signal when killed
	Signal   string        `json:"signal,omitempty"` // name of the signal that killed it
	Duration time.Duration `json:"duration_ns"`
	// Killed counts processes of the tree that were still alive when the command ended.
	Killed int `json:"killed,omitempty"`
}

// Entry is one live command in a holder.
type Entry struct {
	Name  string    `json:"name"`
	PID   int       `json:"pid"` // as the host numbers it, when known
	Since time.Time `json:"since"`
}

// Proof is what the probe found.
type Proof struct {
	At      time.Time   `json:"at,omitzero"` // when; a proof counts until the machine, the build or the boundary changes
	Rung    Rung        `json:"rung"`
	Network Network     `json:"network"`
	Lines   []ProofLine `json:"lines"`
	// NotCovered names what this rung cannot enforce, for the report.
	NotCovered []string `json:"not_covered,omitempty"`
}

// ProofLine is one attempted thing.
type ProofLine struct {
	Name   string `json:"name"` // "write the real tree", "connect out", ...
	Want   string `json:"want"` // "refused" or "works"
	Got    string `json:"got"`  // "refused: EROFS", "works", ...
	OK     bool   `json:"ok"`
	Target string `json:"target,omitempty"`
}

// Proved reports whether every line holds, and how many do.
func (p Proof) Proved() (ok bool, held, all int) {
	for _, l := range p.Lines {
		if l.OK {
			held++
		}
	}
	return held == len(p.Lines) && len(p.Lines) > 0, held, len(p.Lines)
}
