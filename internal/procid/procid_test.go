//go:build linux

package procid

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ambit-run/ambit/fault"
)

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "600")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

func alive(t *testing.T, id ID) bool {
	t.Helper()
	ok, err := Alive(id)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestSelfIsAlive(t *testing.T) {
	t.Parallel()
	id, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Self()
	if err != nil || id != again {
		t.Fatalf("Self is not stable: %+v, %+v, %v", id, again, err)
	}
	if id.PID != os.Getpid() || id.Start == "" || id.Boot == "" || id.NS == "" {
		t.Fatalf("incomplete: %+v", id)
	}
	if !alive(t, id) {
		t.Fatal("the running process counts as dead")
	}
}

func TestC122_EveryPartCounts(t *testing.T) {
	t.Parallel()
	id, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*ID)
		want   bool
	}{
		"other start":                  {func(i *ID) { i.Start += "0" }, false},
		"other boot":                   {func(i *ID) { i.Boot = "00000000-0000-0000-0000-000000000000" }, false},
		"no pid":                       {func(i *ID) { i.PID = 0 }, false},
		"negative pid":                 {func(i *ID) { i.PID = -1 }, false},
		"unknown pid":                  {func(i *ID) { i.PID = 1 << 30 }, false},
		"other namespace counts alive": {func(i *ID) { i.NS = "pid:[1]"; i.PID = 1 << 30 }, true},
	} {
		o := id
		c.change(&o)
		if got := alive(t, o); got != c.want {
			t.Errorf("%s: alive = %v, want %v", name, got, c.want)
		}
	}
}

func TestC122_EndedProcessIsDead(t *testing.T) {
	t.Parallel()
	c := sleeper(t)
	id, err := Of(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !alive(t, id) {
		t.Fatal("a running child counts as dead")
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Not reaped yet: once it is a zombie it must count as dead.
	stat := "/proc/" + strconv.Itoa(id.PID) + "/stat"
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(stat)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), ") Z ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the child did not become a zombie: %s", b)
		}
	}
	if alive(t, id) {
		t.Fatal("a zombie counts as alive")
	}
	if _, err := Of(id.PID); !fault.Is(err, fault.NotFound) {
		t.Fatalf("naming a zombie: %v", err)
	}
	_ = c.Wait()
	if alive(t, id) {
		t.Fatal("a reaped process counts as alive")
	}
}

// TestC122_RecycledPID makes the kernel give a dead process's number to a new
// one, and sees that the old name does not match it.
func TestC122_RecycledPID(t *testing.T) {
	if os.Getenv("PROCID_RECYCLE") == "1" {
		recycle()
		return
	}
	// A pid namespace of its own: nobody else takes numbers in it.
	c := exec.Command("/proc/self/exe", "-test.run=^TestC122_RecycledPID$")
	c.Env = append(os.Environ(), "PROCID_RECYCLE=1")
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := c.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Skipf("no user and pid namespace on this machine: %v", err)
	}
	switch s := string(out); {
	case strings.Contains(s, "RECYCLED dead"):
	case strings.Contains(s, "CANNOT"):
		t.Skip(s)
	default:
		t.Fatalf("%v\n%s", err, s)
	}
}

func recycle() {
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		fmt.Println("CANNOT mount proc:", err)
		os.Exit(0)
	}
	a := exec.Command("sleep", "600")
	if err := a.Start(); err != nil {
		panic(err)
	}
	id, err := Of(a.Process.Pid)
	if err != nil {
		panic(err)
	}
	_ = a.Process.Kill()
	_ = a.Wait()
	// The start token counts hundredths of a second: a process that starts in
	// the same one is not told apart, so let one pass, as reuse of a number by
	// wrapping round the whole pid space always does.
	for t := time.Now(); time.Since(t) < 50*time.Millisecond; {
	}
	for range 100 {
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(id.PID-1)), 0); err != nil {
			fmt.Println("CANNOT choose the next pid:", err)
			os.Exit(0)
		}
		b := exec.Command("sleep", "600")
		if err := b.Start(); err != nil {
			panic(err)
		}
		same := b.Process.Pid == id.PID
		ok, err := Alive(id)
		if same {
			now, _ := Of(id.PID)
			fmt.Println("RECYCLED", map[bool]string{true: "alive", false: "dead"}[ok], err, id, now)
		}
		_ = b.Process.Kill()
		_ = b.Wait()
		if same {
			os.Exit(0)
		}
	}
	fmt.Println("CANNOT get the number again")
	os.Exit(0)
}

func TestParseStat(t *testing.T) {
	t.Parallel()
	tail := func(state, threads string) string {
		f := strings.Fields("S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 18 4711 20")
		f[0], f[17] = state, threads
		return strings.Join(f, " ")
	}
	for name, c := range map[string]struct {
		stat    string
		running bool
		bad     bool
	}{
		"plain":               {"1 (a) " + tail("S", "1"), true, false},
		"parentheses in name": {"1 (a) Z (b) " + tail("R", "1"), true, false},
		"newline in name":     {"1 (a\n) Z) " + tail("D", "3"), true, false},
		"zombie":              {"1 (a) " + tail("Z", "1"), false, false},
		"first thread ended":  {"1 (a) " + tail("Z", "4"), true, false},
		"no name":             {"1 a S", false, true},
		"short":               {"1 (a) S 1 2", false, true},
	} {
		start, running, err := parseStat([]byte(c.stat))
		if (err != nil) != c.bad || running != c.running || (!c.bad && start != "4711") {
			t.Errorf("%s: %q %v %v", name, start, running, err)
		}
	}
}
