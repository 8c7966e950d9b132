//go:build linux

package holder

import (
	"encoding/json"
	"os"
	"syscall"
)

// Stages is what a confinement does at each step of the holder's life. The
// holder knows processes and sockets; namespaces, mounts and rules come from here.
type Stages struct {
	// Attr says how the inner process is cloned. Runs in the outer process.
	Attr func(c Config) (*syscall.SysProcAttr, error)
	// Build makes the inside. Runs once, in the inner process, before any entry.
	// The files it returns are handed to every entry, note goes with them.
	Build func(setup json.RawMessage) (Inside, error)
	// EntryAttr says how an entry process is cloned. Runs in the inner process.
	EntryAttr func(in Inside) *syscall.SysProcAttr
	// Prepare runs in an entry process before its terminal is opened.
	Prepare func(in Inside) error
	// Seal runs in an entry process, on the locked thread that forks the command
	// next: everything after it is confined.
	Seal func(in Inside, job Job) error
}

// Inside is what the inner process gives to each entry.
type Inside struct {
	Files   []*os.File      // at most 4
	Note    json.RawMessage // small; visible to commands in /proc/1/cmdline
	Notices []string        // what could not be had, for the log
}

// Config is what the outer process is started with; what it shall hold follows.
type Config struct {
	Plan    string `json:"plan"`
	Dir     string `json:"dir"` // the holder's folder: socket, lease, locks, log
	Spec    string `json:"-"`   // hash of the spec it holds
	IdleNS  int64  `json:"idle_ns"`
	HostNet bool   `json:"host_net"`
}

// First arguments by which the binary is started as one of the holder's processes.
const (
	ArgOuter = "ambit-holder"
	ArgInner = "ambit-init"
	ArgEntry = "ambit-entry"
)

// selfExe starts the running binary again, even when its file was replaced.
const selfExe = "/proc/self/exe"

// argv0 is the name our processes show in ps.
const argv0 = "ambit"
