//go:build linux

package holder

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ambit-run/ambit/internal/procid"
)

func sleeper(t *testing.T) (*exec.Cmd, procid.ID) {
	t.Helper()
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	id, err := procid.Of(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return c, id
}

func TestC122_OnlyTheVeryProcessIsKilled(t *testing.T) {
	t.Parallel()
	c, id := sleeper(t)
	other := id
	other.Start += "1" // the pid was reused
	if err := killProcess(other); err != nil {
		t.Error(err)
	}
	if err := waitProcess(t.Context(), other); err != nil {
		t.Errorf("waiting for a process that is gone: %v", err)
	}
	if !running(id) {
		t.Fatal("another process was killed")
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Millisecond, errors.New("time is up"))
	defer cancel()
	if err := waitProcess(ctx, id); err == nil || err.Error() != "time is up" {
		t.Errorf("waiting for a live process: %v", err)
	}
	if err := killProcess(id); err != nil {
		t.Fatal(err)
	}
	if err := waitProcess(t.Context(), id); err != nil {
		t.Error(err)
	}
	if running(id) {
		t.Error("a zombie counts as running")
	}
	_ = c.Wait()
	if err := killProcess(id); err != nil {
		t.Errorf("killing a dead process: %v", err)
	}
}

func TestLeaseRemains(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"none": "", "empty": "\x00", "garbage": "{", "dead": `{"outer":{"pid":999999999},"inner":{"pid":999999999}}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan := t.TempDir()
			if content != "" {
				if err := os.MkdirAll(Dir(plan), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(Dir(plan), leaseName), []byte(strings.Trim(content, "\x00")), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if es, err := Live(t.Context(), plan); err != nil || len(es) != 0 {
				t.Errorf("live: %v %v", es, err)
			}
			if err := Close(t.Context(), plan, false); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

func TestLockIsExclusiveAndHeedsContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := lockFile(t.Context(), dir, "l")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("time is up"))
	defer cancel()
	if _, err := lockFile(ctx, dir, "l"); err == nil || err.Error() != "time is up" {
		t.Errorf("a held lock: %v", err)
	}
	f.Close()
	g, err := lockFile(t.Context(), dir, "l")
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
}
