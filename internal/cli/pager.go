package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/ambit-run/ambit/fault"
)

// page calls write with where long output goes: the person's pager when stdout
// is a terminal, stdout otherwise. A pager that is left early is no error.
func (d *deps) page(write func(w io.Writer) error) error {
	command := ""
	if d.cfg != nil {
		command = strings.TrimSpace(d.cfg.Pager)
	}
	out := terminalOf(d.stdout)
	if out == nil || d.noPager || command == "" || command == "cat" {
		return write(d.stdout)
	}
	cmd := exec.Command("/bin/sh", "-c", command) //nolint:noctx // the person ends a pager, never we
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.Env = d.environ
	for _, kv := range []string{"LESS=FRX", "LV=-c"} { // as git sets them: only where the person has none
		name, _, _ := strings.Cut(kv, "=")
		if _, ok := d.getenv(name); !ok {
			cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], kv)
		}
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fault.Wrap(fault.Internal, "start the pager", err)
	}
	defer d.interrupts.pause()()
	if err := cmd.Start(); err != nil {
		return write(d.stdout)
	}
	werr := write(stdin)
	_ = stdin.Close()
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == 126 || exit.ExitCode() == 127) {
		return fault.New(fault.Unavailable, "show with a pager", "%q does not start", command).
			WithHint("set AMBIT_PAGER to a pager that is installed, or use --no-pager")
	}
	if errors.Is(werr, syscall.EPIPE) {
		return nil
	}
	return werr
}
