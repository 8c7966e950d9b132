//go:build linux

package landlock

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/internal/confine/domain"
	"github.com/ambit-run/ambit/internal/confine/probe"
	"golang.org/x/sys/unix"
)

// TestC82_EachLineOfTheProofCanFail takes one protection away after another and
// sees the line of the proof that stands for it fail. A line without a case here
// fails, too.
func TestC82_EachLineOfTheProofCanFail(t *testing.T) {
	t.Parallel()
	abi, err := domain.ABI()
	if err != nil || abi < domain.LeastABI {
		t.Skipf("no usable Landlock: ABI %d, %v", abi, err)
	}
	stages := func(names ...string) func(*stage) {
		return func(s *stage) { s.c.weak.stages = names }
	}
	paths := func(change func(*stage, *domain.Paths)) func(*stage) {
		return func(s *stage) { s.c.weak.paths = func(p *domain.Paths) { change(s, p) } }
	}
	root := func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("a plain user has no privilege that could be left")
		}
	}
	weak := map[string]func(*stage){
		probe.LineRealTree:    stages(weakRules),
		probe.LineOutside:     stages(weakRules),
		probe.LineHome:        stages(weakRules),
		probe.LineState:       stages(weakRules),
		probe.LineDescriptors: stages(weakFiles),
		probe.LineSockets:     stages(weakNetwork, weakRules),
		probe.LineAbstract:    stages(weakNetwork, weakRules),
		probe.LineTCP:         stages(weakNetwork),
		probe.LineUDP:         stages(weakNetwork),
		probe.LineIPv6:        stages(weakNetwork),
		probe.LineRaw:         stages(weakCalls),
		probe.LineSignal:      stages(weakRules),
		probe.LineCapability:  stages(weakAll),
		probe.LineMount:       stages(weakAll),
		probe.LineUserns:      stages(weakCalls),
		probe.LineTerminal:    stages(weakCalls),
		probe.LineWorkspace: paths(func(s *stage, p *domain.Paths) {
			p.Write = slices.DeleteFunc(p.Write, func(d string) bool { return d == s.copy })
		}),
		probe.LinePrivate: paths(func(s *stage, p *domain.Paths) {
			p.Write = slices.DeleteFunc(p.Write, func(d string) bool { return strings.HasSuffix(d, "/tmp") })
		}),
		probe.LineShell: paths(func(_ *stage, p *domain.Paths) {
			p.Read = slices.DeleteFunc(p.Read, func(d string) bool { return d == "/usr" || d == "/bin" })
			p.Read = append(p.Read, "/usr/lib", "/usr/lib64", "/lib", "/lib64")
		}),
	}
	needs := map[string]func(*testing.T){
		probe.LineMount: root,
		probe.LineUserns: func(t *testing.T) {
			c := exec.Command("/bin/true")
			c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
			if err := c.Run(); err != nil {
				t.Skip("the machine itself refuses user namespaces: " + err.Error())
			}
		},
		probe.LineIPv6: func(t *testing.T) {
			l, err := net.Listen("tcp6", "[::1]:0")
			if err != nil {
				t.Skip("this machine has no IPv6: " + err.Error())
			}
			l.Close()
		},
		probe.LineRaw: func(t *testing.T) {
			fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Skip("this kernel has no vsock, and other kinds need privileges: " + err.Error())
			}
			unix.Close(fd)
		},
	}
	lines, _ := claims(engine.CageSpec{Network: engine.NetworkNone, Real: []string{"/x"}}, abi)
	for _, line := range lines {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			if weak[line] == nil {
				t.Fatal("no case takes this line's protection away")
			}
			if n := needs[line]; n != nil {
				n(t)
			}
			s := newStage(t)
			s.spec.Real = []string{s.real}
			write(t, 0o600, "x", s.spec.HomeDir, "notes")
			weak[line](s)
			s.open()
			proof, err := s.cage.Prove(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(proof.Lines, func(l engine.ProofLine) bool { return l.Name == line })
			if i < 0 {
				t.Fatalf("the proof has no such line: %+v", proof.Lines)
			}
			if l := proof.Lines[i]; l.OK {
				t.Errorf("without its protection the line still holds: %+v", l)
			}
		})
	}
}
