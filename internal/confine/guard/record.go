//go:build linux

package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/procid"
	"golang.org/x/sys/unix"
)

// record is what the plan's folder keeps of a running command.
type record struct {
	Token string    `json:"token"`
	Name  string    `json:"name"`
	Guard procid.ID `json:"guard"`
	Since time.Time `json:"since"`
	Spec  string    `json:"spec"`            // hash of the spec it runs under
	Group string    `json:"group,omitempty"` // its cgroup
}

// mark is the variable by which a tree is found when its guard is gone.
const mark = "AMBIT_ENTRY"

func recordsDir(planDir string) string { return filepath.Join(holder.Dir(planDir), "entries") }

func (r record) path(planDir string) string {
	return filepath.Join(recordsDir(planDir), r.Token+".json")
}

// write makes the record; it must stand before the command can start.
func (r record) write(planDir string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(recordsDir(planDir), 0o700); err != nil {
		return err
	}
	tmp := r.path(planDir) + ".tmp"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, r.path(planDir))
}

// records lists what the plan's folder keeps, oldest first.
func records(planDir string) ([]record, error) {
	es, err := os.ReadDir(recordsDir(planDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "list entries", err)
	}
	var rs []record
	for _, e := range es {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(recordsDir(planDir), e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it ended this moment
		}
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, "list entries", err)
		}
		var r record
		if json.Unmarshal(b, &r) == nil && r.Token+".json" == e.Name() {
			rs = append(rs, r)
		}
	}
	slices.SortFunc(rs, func(a, b record) int { return a.Since.Compare(b.Since) })
	return rs, nil
}

// alive reports whether the record's guard runs; when in doubt it does.
func (r record) alive() bool {
	ok, err := procid.Alive(r.Guard)
	return ok || err != nil
}

// Live lists the commands that run in the plan.
func Live(planDir string) ([]engine.Entry, error) {
	rs, err := records(planDir)
	if err != nil {
		return nil, err
	}
	var es []engine.Entry
	for _, r := range rs {
		if r.alive() {
			es = append(es, engine.Entry{Name: r.Name, PID: r.Guard.PID, Since: r.Since})
		}
	}
	return es, nil
}

// sweep ends what is left of a command whose guard is gone, and forgets it.
func (r record) sweep(ctx context.Context, planDir string) error {
	if err := killGroup(ctx, r.Group); err != nil {
		return fmt.Errorf("kill what is left of %s: %w", r.Name, err)
	}
	if r.Token != "" {
		if err := killMarked(ctx, r.Token); err != nil {
			return fmt.Errorf("kill what is left of %s: %w", r.Name, err)
		}
	}
	if err := os.Remove(r.path(planDir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// killMarked kills every process that carries the token in its environment,
// until none is left.
func killMarked(ctx context.Context, token string) error {
	for {
		left := marked(token)
		if len(left) == 0 {
			return nil
		}
		for _, id := range left {
			fd, err := unix.PidfdOpen(id.PID, 0)
			if err != nil {
				continue
			}
			if ok, err := procid.Alive(id); ok && err == nil {
				_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			}
			unix.Close(fd)
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
}

// marked finds the living processes with the token in their environment.
func marked(token string) []procid.ID {
	ds, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	want := []byte(mark + "=" + token)
	var ids []procid.ID
	for _, d := range ds {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		b, err := os.ReadFile("/proc/" + d.Name() + "/environ")
		if err != nil || !slices.ContainsFunc(bytes.Split(b, []byte{0}), func(kv []byte) bool { return bytes.Equal(kv, want) }) {
			continue
		}
		if id, err := procid.Of(pid); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}
