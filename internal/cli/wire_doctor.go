package cli

import (
	"context"
	"os"
	"strings"

	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
)

// programs reports the versions of the programs ambit starts.
func programs(git *gitx.Git) func(context.Context) map[string]string {
	return func(ctx context.Context) map[string]string {
		out := map[string]string{}
		if v, err := git.Version(ctx); err != nil {
			out["git"] = err.Error()
		} else {
			out["git"] = v.String()
		}
		return out
	}
}

// facts reports what of the machine decides how well ambit works on it.
func facts(_ context.Context, stateDir string) map[string]string {
	out := map[string]string{}
	if raw, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		out["kernel"] = strings.TrimSpace(string(raw))
	}
	if d, err := fsop.OpenRoot(stateDir); err == nil {
		defer d.Close()
		if fs, err := d.Statfs(); err == nil {
			out["state folder"] = stateDir + " on " + fs.Type
		}
	}
	return out
}
