//go:build linux

package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/procid"
	"github.com/ambit-run/ambit/internal/store/storetest"
)

func mustConnector(t *testing.T, dsn string) driver.Connector {
	t.Helper()
	c, err := sqlite.NewConnector(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// child is what this test binary does when the tests start it as another process.
func child(role string) int {
	ctx := context.Background()
	err := func() error {
		path := os.Getenv("STORE_PATH")
		switch role {
		case "full", "read-only":
			return namespaced(ctx, role, path)
		case "holder-of":
			pid, err := holderOf(path)
			fmt.Println(pid)
			return err
		}
		s, err := Open(ctx, path)
		if err != nil {
			return err
		}
		switch role {
		case "count":
			n, err := strconv.Atoi(os.Getenv("STORE_N"))
			if err != nil {
				return err
			}
			for range n {
				if err := storetest.CountUp(ctx, s, "count"); err != nil {
					return err
				}
			}
			return s.Close()
		case "write":
			// Until it is killed: each title it prints has been stored before.
			for i := 1; ; i++ {
				p, err := s.Plan(ctx, "w")
				if err != nil {
					return err
				}
				p.Title = strconv.Itoa(i)
				if err := s.UpdatePlan(ctx, p); err != nil {
					return err
				}
				fmt.Println(i)
			}
		case "hold":
			l, err := selfLease("plan:x")
			if err != nil {
				return err
			}
			if err := s.AcquireLease(ctx, l, aliveLease); err != nil {
				return err
			}
			fmt.Println("held")
			select {} // until it is killed
		}
		return fmt.Errorf("no role %q", role)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func selfLease(key string) (engine.Lease, error) {
	id, err := procid.Self()
	return engine.Lease{Key: key, Plan: "x", PID: id.PID, Start: id.Start, BootID: id.Boot, PIDNS: id.NS, Since: time.Now()}, err
}

func aliveLease(l engine.Lease) bool {
	ok, _ := procid.Alive(procid.ID{PID: l.PID, Start: l.Start, Boot: l.BootID, NS: l.PIDNS}) // unknown counts as alive
	return ok
}

func spawn(t *testing.T, role, path string, env ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command("/proc/self/exe")
	if exe, err := os.Executable(); err == nil {
		c.Path = exe
	}
	c.Env = append(os.Environ(), append(env, "STORE_CHILD="+role, "STORE_PATH="+path)...)
	c.Stderr = os.Stderr
	return c
}

// TestProcessesLoseNoUpdate: eight processes open a database that does not exist
// yet and count up one plan fifty times each.
func TestProcessesLoseNoUpdate(t *testing.T) {
	t.Parallel()
	const processes, each = 8, 50
	path := filepath.Join(t.TempDir(), "state", "ambit.db")
	s := open(t, path)
	if err := s.CreatePlan(t.Context(), &engine.Plan{ID: "count", Steps: []engine.Step{{ID: "n"}}}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range processes {
		c := spawn(t, "count", path, fmt.Sprintf("STORE_N=%d", each))
		wg.Go(func() {
			if err := c.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	p, err := s.Plan(t.Context(), "count")
	if err != nil {
		t.Fatal(err)
	}
	if p.Steps[0].Runs != processes*each || p.Version != 1+processes*each {
		t.Fatalf("%d runs at version %d, want %d", p.Steps[0].Runs, p.Version, processes*each)
	}
}

// TestProcessesCreateOnce: many processes find no database at once.
func TestProcessesCreateOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "ambit.db")
	var wg sync.WaitGroup
	for range 8 {
		c := spawn(t, "count", path, "STORE_N=0")
		wg.Go(func() {
			if err := c.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := open(t, path).Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestKilledWriterLosesNothingItReported: what a process said it had stored is
// there after kill -9, whole.
func TestKilledWriterLosesNothingItReported(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ambit.db")
	s := open(t, path)
	if err := s.CreatePlan(t.Context(), &engine.Plan{ID: "w"}); err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		c := spawn(t, "write", path)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		last := 0
		for last < 5+round {
			if _, err := fmt.Fscanln(out, &last); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := fmt.Fscanln(out, &last); err != nil {
				break
			}
		}
		_ = c.Wait()
		p, err := s.Plan(t.Context(), "w")
		if err != nil {
			t.Fatal(err)
		}
		if n, err := strconv.Atoi(p.Title); err != nil || n < last {
			t.Fatalf("it reported %d, %q is stored", last, p.Title)
		}
	}
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestC122_C6_LeaseOfLiveProcess: a lease stays with its process for as long as
// it lives, and not longer.
func TestC122_C6_LeaseOfLiveProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ambit.db")
	s := open(t, path)
	c := spawn(t, "hold", path)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	var word string
	if _, err := fmt.Fscanln(out, &word); err != nil {
		t.Fatal(err)
	}
	mine, err := selfLease("plan:x")
	if err != nil {
		t.Fatal(err)
	}
	want(t, s.AcquireLease(t.Context(), mine, aliveLease), fault.Conflict, strconv.Itoa(c.Process.Pid))
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if err := s.AcquireLease(t.Context(), mine, aliveLease); err != nil {
		t.Fatalf("the lease of a dead process: %v", err)
	}
}

// TestLockedIsUnavailable: a writer that never ends is said after a while.
func TestLockedIsUnavailable(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits out the busy timeout of five seconds")
	}
	path := filepath.Join(t.TempDir(), "ambit.db")
	s := open(t, path)
	other, err := sql.Open("sqlite", "file://"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	err = s.CreatePlan(t.Context(), &engine.Plan{ID: "x"})
	want(t, err, fault.Unavailable, "locked")
	if d := time.Since(start); d < patience/2 {
		t.Errorf("gave up after %v", d)
	}
	// Reading goes on, and so does opening.
	if _, err := s.FindPlans(t.Context(), engine.PlanQuery{}); err != nil {
		t.Error(err)
	}
	open(t, path)
	if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := s.CreatePlan(t.Context(), &engine.Plan{ID: "x"}); err != nil {
		t.Fatal(err)
	}
}
