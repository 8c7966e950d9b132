//go:build linux

package holder

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/ambit-run/ambit/fault"
	"golang.org/x/sys/unix"
)

// ends makes two connected ends.
func ends(t testing.TB) (*Conn, *Conn) {
	t.Helper()
	a, f, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	b, err := connFromFile(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func TestWireCarriesMessagesAndDescriptors(t *testing.T) {
	t.Parallel()
	a, b := ends(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sent := make(chan error, 1)
	big := strings.Repeat("x", 3<<20) // larger than a socket's buffer
	go func() {
		err := a.Send(Job{Argv: []string{"one", big}}, w, w)
		if err == nil {
			err = a.Send(Job{Argv: []string{"two"}})
		}
		sent <- err
	}()
	var j Job
	files, err := b.Recv(&j)
	if err != nil || len(files) != 2 || len(j.Argv) != 2 || j.Argv[1] != big {
		t.Fatalf("%d files, %v", len(files), err)
	}
	flags, err := unix.FcntlInt(files[0].Fd(), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Error("a received descriptor would leak into a command")
	}
	if _, err := files[1].WriteString("through"); err != nil {
		t.Error(err)
	}
	closeAll(files)
	w.Close()
	if got, _ := io.ReadAll(r); string(got) != "through" {
		t.Errorf("the pipe carried %q", got)
	}
	j = Job{}
	if files, err := b.Recv(&j); err != nil || len(files) != 0 || j.Argv[0] != "two" {
		t.Error(j, err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	a.Close()
	if _, err := b.Recv(&j); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestWireRefuses(t *testing.T) {
	t.Parallel()
	head := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	for name, c := range map[string]struct {
		bytes []byte
		files int
	}{
		"cut head":        {[]byte{0, 0}, 0},
		"cut body":        {append(head(10), "{}"...), 0},
		"too long":        {head(maxFrame + 1), 0},
		"no JSON":         {append(head(3), "{x}"...), 0},
		"many files":      {append(head(2), "{}"...), maxFiles + 20},
		"length overflow": {head(1<<32 - 1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := ends(t)
			fds := make([]int, c.files)
			if _, _, err := a.sock.WriteMsgUnix(c.bytes, unix.UnixRights(fds...), nil); err != nil {
				t.Fatal(err)
			}
			a.Close()
			var v map[string]any
			files, err := b.Recv(&v)
			if !errors.Is(err, errFrame) || files != nil {
				t.Errorf("%v %v", files, err)
			}
		})
	}
	a, _ := ends(t)
	if err := a.Send(Job{}, make([]*os.File, maxFiles+1)...); err == nil {
		t.Error("too many descriptors were sent")
	}
	if err := a.Send(strings.Repeat("x", maxFrame)); err == nil {
		t.Error("too long a message was sent")
	}
}

// FuzzRecv: whatever a peer writes, Recv returns.
func FuzzRecv(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Add([]byte("\x00\x00\x00\x10{\"op\":\"run\"}"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 64<<10 {
			t.Skip("longer than a socket's buffer")
		}
		a, c := ends(t)
		if _, err := a.sock.Write(b); err != nil {
			t.Fatal(err)
		}
		a.Close()
		for {
			var r request
			files, err := c.Recv(&r)
			closeAll(files)
			if err != nil {
				return
			}
		}
	})
}

func TestFailureTravels(t *testing.T) {
	t.Parallel()
	in := fault.New(fault.Conflict, "close holder", "2 commands").WithHint("wait %d%%", 5).WithPaths("a", "b").WithCause(os.ErrClosed)
	out := fault.As(failureOf(in).Err())
	if out.Code != in.Code || out.Op != in.Op || out.Hint != in.Hint || len(out.Paths) != 2 || !strings.Contains(out.Error(), "file already closed") {
		t.Errorf("%+v", out)
	}
	if failureOf(nil) != nil || (*Failure)(nil).Err() != nil {
		t.Error("nothing became something")
	}
}
