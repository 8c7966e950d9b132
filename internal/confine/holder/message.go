//go:build linux

package holder

import (
	"encoding/json"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
)

// Failure is a fault.Error as it travels.
type Failure struct {
	Code    fault.Code `json:"code"`
	Op      string     `json:"op,omitempty"`
	Message string     `json:"message"`
	Hint    string     `json:"hint,omitempty"`
	Paths   []string   `json:"paths,omitempty"`
}

// failureOf packs an error for the wire.
func failureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	f := fault.As(err)
	msg := f.Message
	if f.Cause != nil {
		if msg != "" {
			msg += ": "
		}
		msg += f.Cause.Error()
	}
	return &Failure{Code: f.Code, Op: f.Op, Message: msg, Hint: f.Hint, Paths: f.Paths}
}

// Err unpacks a received failure; nil gives nil.
func (f *Failure) Err() error {
	if f == nil {
		return nil
	}
	e := fault.New(f.Code, f.Op, "%s", f.Message)
	if f.Hint != "" {
		e = e.WithHint("%s", f.Hint)
	}
	return e.WithPaths(f.Paths...)
}

// Operations of a client on the holder's socket.
const (
	opHello = "hello" // what is held, and by whom
	opRun   = "run"   // start an entry; descriptors: control socket, stdin, stdout, stderr
	opKill  = "kill"  // kill the entry this connection started
	opClose = "close" // end the holder
)

// request is what a client asks the outer process.
type request struct {
	Op      string `json:"op"`
	Version int    `json:"version"`
	Name    string `json:"name,omitempty"`
	Force   bool   `json:"force,omitempty"`
	Streams string `json:"streams,omitempty"` // which descriptors follow the control socket: any of "i", "o", "e"
}

// reply is what the outer process answers. A run is answered twice: once it has
// begun or failed, and once its whole process tree is gone.
type reply struct {
	Failure *Failure       `json:"failure,omitempty"`
	Spec    string         `json:"spec,omitempty"`
	Version int            `json:"version,omitempty"`
	Entries []engine.Entry `json:"entries,omitempty"`
	Lease   *Lease         `json:"lease,omitempty"` // once, to whom started the holder
	Gone    bool           `json:"gone,omitempty"`
	Status  string         `json:"status,omitempty"` // how the entry's pid 1 ended, when not by itself
}

// order is what the outer process tells the inner one.
type order struct {
	Op      string          `json:"op"` // "setup", "spawn", "kill"
	ID      int             `json:"id,omitempty"`
	Streams string          `json:"streams,omitempty"`
	Setup   json.RawMessage `json:"setup,omitempty"`
}

// event is what the inner process tells the outer one.
type event struct {
	Event   string   `json:"event"` // "ready", "failed", "spawned", "gone"
	ID      int      `json:"id,omitempty"`
	PID     int      `json:"pid,omitempty"` // as the inner process numbers it
	Status  string   `json:"status,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
	Notices []string `json:"notices,omitempty"`
}

// Job is what an entry process is told to do.
type Job struct {
	Argv []string `json:"argv"`
	Dir  string   `json:"dir"`
	Env  []string `json:"env"`
	TTY  bool     `json:"tty,omitempty"`
	Rows uint16   `json:"rows,omitempty"`
	Cols uint16   `json:"cols,omitempty"`
	// Rules is for the confinement that seals the entry; the holder does not read it.
	Rules json.RawMessage `json:"rules,omitempty"`
	// Terminal is the path of the command's terminal, for Seal. Set by the entry process.
	Terminal string `json:"-"`
}

// word is what client and entry process tell each other over the control socket.
type word struct {
	// From the entry: "terminal" (with the master descriptor), "started",
	// "refused", "ended". From the client: "resize", "signal".
	Word     string        `json:"word"`
	Rows     uint16        `json:"rows,omitempty"`
	Cols     uint16        `json:"cols,omitempty"`
	Signal   int           `json:"signal,omitempty"`
	Failure  *Failure      `json:"failure,omitempty"`
	Code     int           `json:"code,omitempty"`
	Duration time.Duration `json:"duration,omitempty"`
	Killed   int           `json:"killed,omitempty"`
}
