package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/holder"
)

// Subject is a boundary to prove.
type Subject struct {
	Rung engine.Rung
	Spec engine.CageSpec
	// Exe is this binary's path inside.
	Exe string
	// Lines are what the rung claims; see Claims.
	Lines []string
	// HomeDir and TempDir are the private folders as commands find them.
	HomeDir, TempDir string
	// Real are host paths of the real resources by which commands might reach them.
	Real []string
	// Open are roots of sandboxes that are the real resource itself, on request:
	// nothing is tried there.
	Open []string
	// Shown are host paths that the boundary shows on purpose.
	Shown      []string
	NotCovered []string
	Namespaced bool
	Run        func(context.Context, engine.Command) (engine.Exit, error)
	Nonce      string // unguessable, fit for a file name
	Getenv     func(string) string
}

// Claims are the lines of a boundary with a network namespace or without the
// host's network.
func Claims(spec engine.CageSpec) []string {
	lines := []string{
		LineRealTree, LineOutside, LineHome, LineState, LineDescriptors, LineSockets, LineAbstract,
		LineProcesses, LineSignal, LineCapability, LineMount, LineUserns, LineTerminal,
		LineWorkspace, LinePrivate, LineShell, LineLoopback,
	}
	if spec.Network == engine.NetworkNone {
		lines = append(lines, LineTCP, LineUDP, LineIPv6, LineRaw)
	}
	if spec.Home == engine.HomeRO {
		// The home shows; its secrets are checked under the same name.
		lines = Without(lines, LinePrivate)
	}
	return lines
}

// Without returns lines with some left out.
func Without(lines []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return slices.Contains(names, l) })
}

// Prove runs the probe inside and judges what it found.
func Prove(ctx context.Context, s Subject) (engine.Proof, error) {
	proof := engine.Proof{Rung: s.Rung, Network: s.Spec.Network, NotCovered: s.NotCovered}
	c, err := setCanaries(ctx, s)
	if err != nil {
		return proof, fault.Wrap(fault.Unavailable, "prove boundary", err)
	}
	defer c.remove()
	found, err := runInside(ctx, s, c)
	if err != nil {
		return proof, err
	}
	for _, name := range c.targets.Lines {
		proof.Lines = append(proof.Lines, judge(name, found, c.received))
	}
	return proof, nil
}

// runInside runs the probe as an ordinary command. When it has made all its
// attempts it waits, while the host looks for what they left, and then cleans up.
func runInside(ctx context.Context, s Subject, c *canaries) ([]finding, error) {
	raw, err := json.Marshal(c.targets)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "prove boundary", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "prove boundary", err)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = w.Write(append(raw, '\n')) // ends when all is written or r is closed
	}()
	out := &answer{looked: c.look, done: w}
	var errs bytes.Buffer
	exit, err := s.Run(ctx, engine.Command{
		Name: "probe", Argv: []string{s.Exe, ArgInside}, Dir: "/", Stdin: r, Stdout: out, Stderr: &errs,
		Env: holder.SelfEnv("PATH=/usr/local/bin:/usr/bin:/bin", "HOME="+s.HomeDir, "TMPDIR="+s.TempDir),
	})
	r.Close()
	<-sent
	w.Close()
	if err != nil {
		return nil, fault.Wrap("", "prove boundary", err)
	}
	if exit.Code != 0 || out.found == nil {
		return nil, fault.New(fault.Unsupported, "prove boundary", "the probe inside ended with %d: %s", exit.Code, strings.TrimSpace(errs.String()))
	}
	return out.found, nil
}

// answer is where the probe's line arrives.
type answer struct {
	buf    bytes.Buffer
	found  []finding
	looked func([]finding)
	done   *os.File
}

// Write collects the line; at its end the host looks and lets the probe go on.
func (a *answer) Write(p []byte) (int, error) {
	if a.found != nil || a.buf.Len()+len(p) > 4<<20 {
		return 0, errors.New("the probe says more than a probe")
	}
	a.buf.Write(p)
	if bytes.IndexByte(p, '\n') >= 0 {
		if err := json.Unmarshal(a.buf.Bytes(), &a.found); err != nil {
			return 0, err
		}
		a.looked(a.found)
		a.done.Close()
	}
	return len(p), nil
}

// judge makes one line of all attempts of a kind. received tells whether the
// host got a datagram.
func judge(name string, found []finding, received func() bool) engine.ProofLine {
	l := engine.ProofLine{Name: name, Want: wantRefused}
	if slices.Contains(mustWork, name) {
		l.Want = wantWorks
	}
	tried := 0
	for _, f := range found {
		if f.Line != name {
			continue
		}
		tried++
		got := "refused: " + f.Got
		switch {
		case f.Private:
			got = "kept inside"
		case f.Done && l.Want == wantWorks:
			got = wantWorks
		case f.Done:
			got = f.Got
		}
		if f.Done == (l.Want == wantRefused) && !f.Private {
			l.Got, l.Target = got, f.Target
			return l
		}
		if tried == 1 {
			l.Got, l.Target = got, f.Target
		}
	}
	switch {
	case tried == 0:
		l.Got = "was not tried"
		return l
	case name == LineUDP && received():
		l.Got = "the host received it"
		return l
	case tried > 1:
		l.Target = fmt.Sprintf("%s and %d more", l.Target, tried-1)
	}
	l.OK = true
	return l
}
