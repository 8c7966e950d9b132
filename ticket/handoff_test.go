package ticket

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestHandoffPacket(t *testing.T) {
	t.Parallel()
	d := must(t, "---\nid: M-1\n---\n# Add it\n- [ ] a\n", BuildOptions{})
	long := strings.Repeat("é", MaxContextText)
	files := []ContextFile{
		contextFile(t, "a.go", []byte("package a\n")), contextFile(t, "b.bin", []byte{0, 1}), contextFile(t, "c.bin", []byte("\xff")),
		contextFile(t, "long.txt", []byte("x"+long)), contextFile(t, "empty", nil),
	}
	for range 20 {
		files = append(files, contextFile(t, "more", []byte(long)))
	}
	p := Handoff(d, nil, files)
	sum := sha256.Sum256([]byte("package a\n"))
	ctx := p.Packet.Context
	if f := ctx[0]; f.Text != "package a\n" || f.Size != 10 || f.SHA256 != hex.EncodeToString(sum[:]) || f.Truncated || f.Binary {
		t.Errorf("%+v", f)
	}
	for _, f := range ctx[1:3] {
		if !f.Binary || f.Text != "" || f.SHA256 == "" {
			t.Errorf("%+v", f)
		}
	}
	if f := ctx[3]; !f.Truncated || len(f.Text) != MaxContextText-1 || f.Size != int64(1+len(long)) || !strings.HasSuffix(f.Text, "é") {
		t.Errorf("long: %d bytes, truncated %v", len(f.Text), f.Truncated)
	}
	total := 0
	for _, f := range ctx {
		total += len(f.Text)
	}
	if total > MaxPacketText || total < MaxPacketText-2 || !ctx[len(ctx)-1].Truncated {
		t.Errorf("%d bytes of text", total)
	}
	if last := files[len(files)-1]; len(last.Text) != MaxContextText || len(ctx[len(ctx)-1].Text) >= MaxContextText {
		t.Error("the list given was changed")
	}
	if p.TaskID != "M-1" || p.Packet.Objective != "Add it" || p.Packet.Trust != PacketTrust || p.Note != HandoffNote || p.Manifest.Hash != d.ManifestHash() {
		t.Errorf("%+v", p)
	}
	out := toJSON(t, p)
	for _, want := range []string{`{"task_id":"M-1","sandbox":null,"manifest":{`, `"packet":{"task_id":"M-1","objective":"Add it","trust":`, `"authorized":false,"note":`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in %.300s", want, out)
		}
	}
}

func contextFile(t *testing.T, path string, content []byte) ContextFile {
	t.Helper()
	f, err := NewContextFile(path, iotest.HalfReader(bytes.NewReader(content)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestContextFileAtTheSeams: a character that is cut by a buffer is whole, one that
// the file cuts is not, and no more than the limit is kept.
func TestContextFileAtTheSeams(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 32<<10 - 1, 32 << 10, 32<<10 + 1, MaxContextText - 1, MaxContextText, MaxContextText + 1, MaxContextText + 2} {
		text := strings.Repeat("a", n) + "\U0001f600é" + strings.Repeat("b", n)
		for _, read := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader} {
			f, err := NewContextFile("f", read(strings.NewReader(text)))
			sum := sha256.Sum256([]byte(text))
			if err != nil || f.Binary || f.SHA256 != hex.EncodeToString(sum[:]) || f.Size != int64(len(text)) ||
				!strings.HasPrefix(text, f.Text) || f.Truncated != (len(f.Text) < len(text)) || len(f.Text) > MaxContextText ||
				len(f.Text) < min(len(text), MaxContextText-3) {
				t.Errorf("%d: %v, size %d, binary %v, truncated %v, %d bytes of text", n, err, f.Size, f.Binary, f.Truncated, len(f.Text))
			}
			if f, err := NewContextFile("f", read(strings.NewReader(text+"\xf0\x9f"))); err != nil || !f.Binary || f.Text != "" {
				t.Errorf("%d: a cut character at the end: %v, binary %v", n, err, f.Binary)
			}
			if f, err := NewContextFile("f", read(strings.NewReader(text+"\x80"))); err != nil || !f.Binary {
				t.Errorf("%d: a stray byte at the end: %v, binary %v", n, err, f.Binary)
			}
		}
	}
	if _, err := NewContextFile("f", iotest.ErrReader(io.ErrUnexpectedEOF)); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
}

func TestHandoffOfOneStep(t *testing.T) {
	t.Parallel()
	d := must(t, lines("# Two", "- [ ] Write `a.go`", "- [ ] Write `b.go`", "## Files Created", "- a.go", "- b.go", "- c.go"), BuildOptions{})
	p := Handoff(d, nil, []ContextFile{{Path: "a.go"}, {Path: "b.go"}, {Path: "c.go"}})
	one := p
	one.ForStep(d, &d.Nodes[0])
	if len(one.Packet.Context) != 1 || one.Packet.Context[0].Path != "a.go" || one.Step.ID != d.Nodes[0].ID || !strings.Contains(one.Step.Prompt, "Write `a.go`") {
		t.Errorf("%+v", one)
	}
	if len(p.Packet.Context) != 3 || p.Packet.Context[2].Path != "c.go" || p.Step != nil || one.Manifest.Hash != p.Manifest.Hash {
		t.Errorf("the whole changed: %+v", p)
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	d := must(t, lines("# Add health checks", "- [ ] Base", "- [ ] Routes", "  Keep the old ones.", "  - [ ] T2 Write `a.go` (depends on Z-9)", "- [ ] End after n02",
		"## Acceptance", "- returns 200", "## Files Created", "- a.go", "## Tests", "- make check"), BuildOptions{})
	n := d.Find("T2")[0]
	got := Prompt(d, n, PromptInput{
		Before:     []PromptStep{{Title: "Base", Files: []string{"x.go"}}, {ID: "n09", Outcome: "failed"}},
		LeaveAlone: []string{"vendor/"}, Remarks: []string{"Name things well."},
	})
	want := `You carry out one step of a ticket. Do this step, and nothing of the other steps.

## Ticket

Add health checks

## This step

T2 Write ` + "`a.go`" + ` (n03-t2-write-a-go)
As written: T2 Write ` + "`a.go`" + ` (depends on Z-9)
It is part of: Routes

## Files it is about

- a.go

## Commands that have to pass

- make check

## The ticket is accepted when

- returns 200

## Done before

- Base — changed x.go
- n09 — failed

## Later steps: not yours

- Routes
- End

## Leave alone

- vendor/

Name things well.
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	parent := Prompt(d, d.Find("n02")[0], PromptInput{})
	if !strings.Contains(parent, "Keep the old ones.") || !strings.Contains(parent, "nested in it are done") || !strings.Contains(parent, "- T2 Write") {
		t.Error(parent)
	}
}

// A prompt stays short however large the ticket is, and keeps what came last.
func TestPromptIsBounded(t *testing.T) {
	t.Parallel()
	d := must(t, string(largeTicket(3000)), BuildOptions{})
	in := PromptInput{}
	for i := range 500 {
		in.Before = append(in.Before, PromptStep{Title: strings.Repeat("t", 50), Files: make([]string, i)})
	}
	in.Before[499].Title = "the last one"
	got := Prompt(d, &d.Nodes[10], in)
	if len(got) > 16<<10 || !strings.Contains(got, "the last one") || !strings.Contains(got, "(481 steps earlier)") {
		t.Errorf("%d bytes:\n%.2000s", len(got), got)
	}
	d = must(t, "# t\n"+strings.Repeat("words and more words\n", 10_000), BuildOptions{})
	if got := Prompt(d, &d.Nodes[0], PromptInput{}); len(got) > 20<<10 || !strings.Contains(got, "words and more words") || !strings.Contains(got, "cut here") {
		t.Errorf("fallback: %d bytes", len(got))
	}
}
