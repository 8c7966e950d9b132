//go:build linux

package native

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/ambit-run/ambit/internal/confine/holder"
	"github.com/ambit-run/ambit/internal/confine/view"
)

const argCircumstances = "print-circumstances"

func printCircumstances() bool {
	if len(os.Args) != 2 || os.Args[1] != argCircumstances {
		return false
	}
	_, _ = os.Stdout.WriteString(New(view.OS{}).Circumstances())
	return true
}

// What is remembered of the rung must not be taken over into a place that allows
// less: another namespace, a process without new privileges.
func TestCircumstancesDiffer(t *testing.T) {
	t.Parallel()
	print := func(cmd *exec.Cmd) string {
		t.Helper()
		out, err := cmd.Output()
		if err != nil || len(out) == 0 {
			t.Fatalf("%v: %v", cmd, err)
		}
		return string(out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here := print(exec.Command(self, argCircumstances))
	if again := print(exec.Command(self, argCircumstances)); again != here {
		t.Errorf("the same place has two names:\n%s\n%s", here, again)
	}
	if !strings.Contains(here, "user:[") {
		t.Errorf("the user namespace is not named:\n%s", here)
	}
	if setpriv, err := exec.LookPath("setpriv"); err == nil {
		if there := print(exec.Command(setpriv, "--no-new-privs", self, argCircumstances)); there == here {
			t.Error("no_new_privs makes no difference")
		}
	}
	a, err := attr(holder.Config{})
	if err != nil {
		t.Fatal(err)
	}
	inside := exec.Command(self, argCircumstances)
	inside.SysProcAttr = &syscall.SysProcAttr{Cloneflags: a.Cloneflags, UidMappings: a.UidMappings, GidMappings: a.GidMappings, GidMappingsEnableSetgroups: a.GidMappingsEnableSetgroups}
	out, err := inside.Output()
	if err != nil {
		t.Skipf("no namespaces here: %v", err)
	}
	if string(out) == here {
		t.Error("other namespaces make no difference")
	}
}
