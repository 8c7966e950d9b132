package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
)

// copying plays a copy of 4 GB that takes a minute, told five times a second.
func copying(n *notices) {
	for s := 0; s <= 300; s++ {
		at := noon.Add(time.Duration(s) * 200 * time.Millisecond)
		n.observe(engine.Update{Kind: engine.UpdateProgress, At: at, Progress: &engine.Progress{Phase: "copy", Done: int64(s) * 4e9 / 300, Total: 4e9, Unit: "bytes"}})
	}
	n.observe(engine.Update{Kind: engine.UpdateNotice, At: noon.Add(time.Minute), Text: "done"})
}

func TestLongWorkInALog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	copying((&deps{stderr: &out}).newNotices())
	want := "ambit: copy …\n" +
		"ambit: copy 666.7 MB of 4.0 GB, 16 %\nambit: copy 1.3 GB of 4.0 GB, 33 %\nambit: copy 2.0 GB of 4.0 GB, 50 %\n" +
		"ambit: copy 2.7 GB of 4.0 GB, 66 %\nambit: copy 3.3 GB of 4.0 GB, 83 %\nambit: copy 4.0 GB of 4.0 GB, 100 %\nambit: done\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestLongWorkInPlace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	n := (&deps{stderr: &out}).newNotices()
	var drawn []string
	n.redraw = func(text string) { drawn = append(drawn, text) }
	copying(n)
	if out.String() != "ambit: copy …\nambit: done\n" {
		t.Errorf("printed besides: %q", out.String())
	}
	if len(drawn) < 100 || drawn[0] != "ambit: copy 66.7 MB of 4.0 GB, 1 %" || drawn[len(drawn)-1] != "" {
		t.Errorf("drawn %d times, first %q, last %q", len(drawn), drawn[0], drawn[len(drawn)-1])
	}
}

func TestLongWorkOfUnknownSize(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		p    engine.Progress
		want string
	}{
		{engine.Progress{Phase: "copy", Done: 999, Unit: "bytes"}, "copy 999 bytes"},
		{engine.Progress{Phase: "copy objects", Done: 1500, Unit: "bytes"}, "copy objects 1.5 kB"},
		{engine.Progress{Phase: "checkout", Done: 10, Total: 40, Unit: "files"}, "checkout 10 files of 40 files, 25 %"},
		{engine.Progress{Phase: "copy", Done: 50, Total: 40, Unit: "files"}, "copy 50 files"}, // it grew meanwhile
	} {
		if got := howFar(tt.p); got != tt.want || strings.Contains(got, "\n") {
			t.Errorf("%+v: %q, want %q", tt.p, got, tt.want)
		}
	}
}
