package conformance

import (
	"bytes"
	"context"
	"encoding/gob"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/fsop"
	"github.com/ambit-run/ambit/internal/gitx"
	"go.uber.org/goleak"
)

// Maker returns every strategy, ready to work with a git program, each calling
// intercept (which may be nil) before its file-system calls.
type Maker func(git *gitx.Git, intercept fsop.Intercept) []engine.Strategy

// Main is TestMain of a package that calls Run.
func Main(m *testing.M, mk Maker) {
	switch os.Args[0] {
	case insideArg:
		if err := enterAndWork(); err != nil {
			fmt.Fprintln(os.Stderr, insideArg+":", err)
			os.Exit(97)
		}
		os.Exit(0)
	case childArg:
		if err := childWork(mk); err != nil {
			fmt.Fprintln(os.Stderr, childArg+":", err)
			os.Exit(98)
		}
		os.Exit(0)
	}
	// Each check starts a dozen processes. The command line may ask for more.
	if err := flag.Set("rapid.checks", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	goleak.VerifyTestMain(m)
}

// newGit is a git program with its private folders in a test's own.
func newGit(home string) *gitx.Git {
	return gitx.New(gitx.Config{Path: os.Getenv("PATH"), Home: home, Dir: filepath.Join(home, "ambit-git")})
}

func pick(all []engine.Strategy, name engine.StrategyName) engine.Strategy {
	for _, s := range all {
		if s.Name() == name {
			return s
		}
	}
	return nil
}

// runChild has a second process do one operation. died reports that it was
// killed on the way, as asked for.
func runChild(spec childSpec) (res Result, died bool, err error) {
	var raw bytes.Buffer
	if err := gob.NewEncoder(&raw).Encode(spec); err != nil {
		return res, false, err
	}
	out, err := again(childArg, nil, raw.Bytes(), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + spec.Home, "TMPDIR=" + os.TempDir()})
	if err != nil {
		if spec.KillAt > 0 && strings.HasPrefix(err.Error(), "signal: killed") {
			return res, true, nil
		}
		return res, false, err
	}
	err = gob.NewDecoder(strings.NewReader(out)).Decode(&res)
	return res, false, err
}

// childWork is the second process.
func childWork(mk Maker) error {
	var spec childSpec
	f := os.NewFile(3, "orders")
	if err := gob.NewDecoder(f).Decode(&spec); err != nil {
		return fmt.Errorf("read orders: %w", err)
	}
	_ = f.Close()
	var intercept fsop.Intercept
	if spec.KillAt > 0 {
		var calls atomic.Int64
		intercept = func(string, string) error {
			if calls.Add(1) == int64(spec.KillAt) {
				suicide()
			}
			return nil
		}
	}
	s := pick(mk(newGit(spec.Home), intercept), spec.Strategy)
	if s == nil {
		return fmt.Errorf("no strategy %q", spec.Strategy)
	}
	res, err := spec.do(context.Background(), s)
	if err != nil {
		res.Error, res.Code = err.Error(), string(fault.CodeOf(err))
	}
	return gob.NewEncoder(os.Stdout).Encode(res)
}

func (spec childSpec) do(ctx context.Context, s engine.Strategy) (res Result, err error) {
	var sb engine.Sandbox
	if spec.Do == "create" {
		sb, err = s.Create(ctx, spec.Req)
	} else {
		sb, err = s.Attach(ctx, spec.Rec)
	}
	if err != nil {
		return res, err
	}
	res.Record = sb.Info()
	switch spec.Do {
	case "create":
	case "checkpoint":
		err = sb.Checkpoint(ctx, spec.Name)
	case "restore":
		err = sb.Restore(ctx, spec.Name)
	case "rollback":
		err = sb.Rollback(ctx)
	case "destroy":
		err = sb.Destroy(ctx, spec.Abandon)
	case "checkpoints":
		res.Names, err = sb.Checkpoints(ctx)
	default:
		err = fmt.Errorf("no operation %q", spec.Do)
	}
	return res, err
}
