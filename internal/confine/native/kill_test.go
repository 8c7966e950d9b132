//go:build linux

package native

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine/holder"
)

// littering leaves processes behind in every way there is.
const littering = "sleep 1000 & setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; trap '' TERM INT HUP; "

// TestKilledAtAnyMoment kills the outer process, the inner one, an entry or the
// caller at random moments, from before the holder exists to while the command
// runs, and looks for anything that survives: a process, a mount, a holder that
// cannot be opened again.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	rounds := 14
	if testing.Short() {
		rounds = 4
	}
	mounts := mountsOf(t)
	hit := map[string]int{}
	for _, victim := range []string{"caller", holder.ArgOuter, holder.ArgInner, holder.ArgEntry} {
		for i := range rounds {
			s := newStage(t)
			s.spec.Plan = fmt.Sprintf("k%d-%d", i, rand.Int64())
			j := callerJob{Spec: s.spec, Cmd: engine.Command{
				Name: "litter", Dir: "/", Argv: []string{"/bin/sh", "-c", littering + "sleep 1000"},
				Env: append(s.env(), "MARK="+s.spec.Plan),
			}}
			var out transcript
			c := startCaller(t, j, &out)
			pid := c.Process.Pid
			phase := "starting"
			if i%2 == 0 {
				phase = "running"
				eventually(t, "the command does not start", func() string {
					if planProcess(s.spec.Plan, "sleep") == 0 {
						return out.String() + "no sleep yet"
					}
					return ""
				})
			} else if victim != "caller" {
				eventually(t, victim+" does not start", func() string {
					if planProcess(s.spec.Plan, victim) == 0 {
						return "not yet"
					}
					return ""
				})
			}
			if victim != "caller" {
				pid = planProcess(s.spec.Plan, victim)
			}
			if victim == holder.ArgEntry && phase == "running" {
				// Not the one that waits for the next command.
				live, err := s.c.Live(t.Context(), s.spec.PlanDir)
				if err != nil || len(live) != 1 {
					t.Fatalf("%+v %v", live, err)
				}
				pid = live[0].PID
			}
			pause(time.Duration(rand.IntN(12_000)) * time.Microsecond)
			hit[victim+" while "+phase]++
			kill9(pid)
			switch {
			case victim == holder.ArgEntry && phase == "running":
				_ = c.Wait() // the caller notices by itself
			case victim == holder.ArgOuter || victim == holder.ArgInner:
				eventually(t, victim+" killed, the caller still runs", func() string { return running(c.Process.Pid) })
				_ = c.Wait()
			default:
				_ = c.Process.Kill()
				_ = c.Wait()
			}
			// The caller is gone: so is its command, whatever else lives on.
			eventually(t, "commands survive the death of "+victim, func() string {
				var left []string
				for pid, cmd := range planProcesses(s.spec.Plan) {
					if strings.Contains(cmd, "sleep") {
						left = append(left, fmt.Sprint(pid, " ", cmd))
					}
				}
				return strings.Join(left, "; ")
			})
			if err := s.c.Close(context.Background(), s.spec, true); err != nil {
				t.Fatalf("close after the death of %s: %v\n%s", victim, err, out.String())
			}
			eventually(t, "processes survive "+victim+" and close", noProcesses(s.spec.Plan))
			if i%5 == 0 {
				s.open()
				if got, _ := s.sh("cat a.txt"); got != "real\n" {
					t.Fatalf("after the death of %s the plan shows %q", victim, got)
				}
				if err := s.c.Close(context.Background(), s.spec, false); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t.Logf("killed: %v", hit)
	if now := mountsOf(t); now != mounts {
		t.Errorf("mounts of the host changed:\n%s\nnow\n%s", mounts, now)
	}
}

// running reports a process that is neither gone nor a zombie.
func running(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	if i := bytes.LastIndexByte(b, ')'); b[i+2] == 'Z' {
		return ""
	}
	return string(b)
}

// pause waits for a random kill; it orders nothing.
func pause(d time.Duration) {
	<-time.After(d)
}

// mountsOf lists the host's mounts that a sandbox could have made.
func mountsOf(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for line := range strings.SplitSeq(string(b), "\n") {
		if strings.Contains(line, "overlay") || strings.Contains(line, "/state/plans/") {
			ours = append(ours, line)
		}
	}
	return strings.Join(ours, "\n")
}

// TestCancelKillsTheTree ends the context of a running command.
func TestCancelKillsTheTree(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.spec.Plan = fmt.Sprintf("cancel-%d", rand.Int64())
	s.open()
	ctx, cancel := context.WithCancelCause(t.Context())
	started := make(chan struct{})
	cause := fmt.Errorf("enough")
	done := make(chan error, 1)
	go func() {
		exit, err := s.cage.Run(ctx, engine.Command{
			Name: "litter", Dir: "/", Argv: []string{"/bin/sh", "-c", littering + "echo up; sleep 1000"},
			Env: append(s.env(), "MARK="+s.spec.Plan), Stdout: signalWriter{started},
		})
		if exit.Code != 137 || exit.Signal != "SIGKILL" {
			t.Errorf("exit %+v", exit)
		}
		done <- err
	}()
	<-started
	cancel(cause)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("error %v", err)
	}
	// Nothing is polled: Run returned, so it is gone.
	for pid, cmd := range planProcesses(s.spec.Plan) {
		if strings.Contains(cmd, "sleep") {
			t.Errorf("%d %s still runs", pid, cmd)
		}
	}
}

// signalWriter closes its channel at the first write.
type signalWriter struct{ c chan struct{} }

func (w signalWriter) Write(p []byte) (int, error) {
	select {
	case <-w.c:
	default:
		close(w.c)
	}
	return len(p), nil
}

// TestLeftoversEnd leaves processes behind and sees them counted and gone.
func TestLeftoversEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.spec.Plan = fmt.Sprintf("left-%d", rand.Int64())
	s.open()
	out, exit := s.sh("export MARK=" + s.spec.Plan + "; " + littering + "while [ $(ps -e -o comm= | grep -c sleep) -lt 4 ]; do :; done; echo done; exit 3")
	if out != "done\n" || exit.Code != 3 || exit.Killed < 4 {
		t.Errorf("%q %+v", out, exit)
	}
	for pid, cmd := range planProcesses(s.spec.Plan) {
		if strings.Contains(cmd, "sleep") {
			t.Errorf("%d %s still runs", pid, cmd)
		}
	}
}
