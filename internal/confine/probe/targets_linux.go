package probe

import "github.com/ambit-run/ambit/engine"

// ArgInside starts the binary as the probe inside.
const ArgInside = "ambit-probe"

// Names of the lines, in the order of a proof.
const (
	LineRealTree    = "write the real tree"
	LineOutside     = "write outside the sandbox"
	LineHome        = "read the person's home"
	LineState       = "read ambit's state"
	LineDescriptors = "use an inherited descriptor"
	LineSockets     = "reach a socket of the host"
	LineAbstract    = "reach an abstract socket"
	LineTCP         = "connect by TCP"
	LineUDP         = "send by UDP"
	LineIPv6        = "connect by IPv6"
	LineRaw         = "open other kinds of sockets"
	LineProcesses   = "see other processes"
	LineSignal      = "signal another process"
	LineCapability  = "have or gain a capability"
	LineMount       = "mount"
	LineUserns      = "make a user namespace"
	LineTerminal    = "push input into a terminal"

	LineWorkspace = "write the workspace"
	LinePrivate   = "write home and temporary files"
	LineShell     = "run /bin/sh"
	LineLoopback  = "speak over loopback"
)

// mustWork are the lines that hold when the attempt gets through.
var mustWork = []string{LineWorkspace, LinePrivate, LineShell, LineLoopback}

// viaProc are detours to the root folder.
var viaProc = []string{"/proc/self/root", "/proc/1/root", "/proc/self/cwd/../../../../../../../../../../../../../../../../../../../.."}

// Wants of a line.
const (
	wantRefused = "refused"
	wantWorks   = "works"
)

// object is a file of the host that must not be readable inside, told by its
// identity: a private home may well hold a file of that name.
type object struct {
	Path string `json:"path"`
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
}

// targets is what the probe inside is told to try.
type targets struct {
	Nonce    string         `json:"nonce"`
	Lines    []string       `json:"lines"` // which lines to try
	Net      engine.Network `json:"net"`
	Writable []string       `json:"writable"` // sandboxes that commands write
	// Real are host paths of the real trees; at one of them a sandbox may lie.
	Real    []string `json:"real"`
	Outside []string `json:"outside"` // folders in which nothing may be made
	Home    []object `json:"home"`
	State   []object `json:"state"`
	Sockets []string `json:"sockets"` // paths
	// Abstract are names without the leading zero byte.
	Abstract []string `json:"abstract"`
	TCP      string   `json:"tcp"` // address of the canary
	UDP      string   `json:"udp"`
	TCP6     string   `json:"tcp6"`
	PID      int      `json:"pid"` // a process of the host
	HomeDir  string   `json:"home_dir"`
	TempDir  string   `json:"temp_dir"`
	// Namespaced says that the command has a pid namespace of its own.
	Namespaced bool `json:"namespaced"`
}

// pointless lists the lines for which there is nothing to try: a home without
// anything in it, no sandbox that could be written.
func (t targets) pointless() []string {
	var out []string
	for _, l := range []struct {
		name string
		some bool
	}{
		{LineRealTree, len(t.Real) > 0}, {LineHome, len(t.Home) > 0}, {LineWorkspace, len(t.Writable) > 0}, {LineTCP, t.TCP != ""},
	} {
		if !l.some {
			out = append(out, l.name)
		}
	}
	return out
}

// finding is what one attempt inside came to.
type finding struct {
	Line   string `json:"line"`
	Target string `json:"target,omitempty"`
	// Done says that the attempt got through, as far as can be seen inside.
	Done bool   `json:"done"`
	Got  string `json:"got"`
	// Made is a path at which something was made; the host looks whether it shows there.
	Made string `json:"made,omitempty"`
	// Private says that it does not. Set by the host.
	Private bool `json:"-"`
}
