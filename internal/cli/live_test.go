package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ambit-run/ambit/engine"
)

func at(s float64) time.Time { return noon.Add(time.Duration(s * float64(time.Second))) }

// someSteps is a run in the middle.
func someSteps() *liveView {
	v := &liveView{plan: "p"}
	v.update(engine.Step{ID: "n01-write-the-parser", Title: "Write the parser", Status: engine.StepDone, StartedAt: at(0), EndedAt: at(2.1)})
	v.update(engine.Step{ID: "n02-test-it", Title: "Test it", Status: engine.StepRunning, StartedAt: at(2)})
	v.update(engine.Step{ID: "n03-日本", Title: "日本語のドキュメント", Status: engine.StepPending})
	v.update(engine.Step{ID: "n04-x", Title: "Gone wrong", Status: engine.StepFailed, Exit: &engine.Exit{Code: 3}})
	v.update(engine.Step{ID: "n05-y", Title: "After it", Status: engine.StepSkipped, SkippedFor: "n04-x"})
	v.last["n02-test-it"] = "ok  github.com/x/y/pkg/foo 0.3s"
	return v
}

func shown(lines []viewLine) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

func TestLiveView(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		width, height int
		over          bool
		want          string
	}{
		{80, 24, false, `✓ n01  Write the parser  2.1s
⠋ n02  Test it  12s  ok  github.com/x/y/pkg/foo 0.3s
· n03  日本語のドキュメント
✗ n04  Gone wrong  ended with code 3
– n05  After it  skipped because of n04
`},
		{30, 24, false, `✓ n01  Write the parser  2.1s
⠋ n02  Test it  12s  ok  git…
· n03  日本語のドキュメント
✗ n04  Gone wro…  ended with…
– n05  After it  skipped be…
`},
		{80, 6, false, `✓ n01  Write the parser  2.1s
⠋ n02  Test it  12s  ok  github.com/x/y/pkg/foo 0.3s
  … 3 more
`},
		{80, 6, true, `✓ n01  Write the parser  2.1s
▸ n02  Test it  12s
· n03  日本語のドキュメント
✗ n04  Gone wrong  ended with code 3
– n05  After it  skipped because of n04
`},
	} {
		v := someSteps()
		v.over = tt.over
		if got := shown(v.lines(at(14), tt.width, tt.height)); got != tt.want {
			t.Errorf("%dx%d:\n%s\nwant\n%s", tt.width, tt.height, got, tt.want)
		}
	}
}

func TestLiveViewFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := &liveView{st: style{on: true}, frame: rapid.IntRange(0, 100).Draw(t, "frame")}
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			s := engine.Step{
				ID: fmt.Sprintf("n%02d-x", i), Title: rapid.String().Draw(t, "title"), Message: rapid.String().Draw(t, "message"),
				Status: rapid.SampledFrom([]engine.StepStatus{engine.StepPending, engine.StepRunning, engine.StepDone, engine.StepFailed, engine.StepSkipped}).Draw(t, "status"),
			}
			v.update(s)
			v.last[s.ID] = cleanOutput(rapid.String().Draw(t, "output"))
		}
		width, height := rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(1, 50).Draw(t, "height")
		lines := v.lines(noon, width, height)
		if len(lines) > max(3, height-2) {
			t.Fatalf("%d lines on %d rows", len(lines), height)
		}
		for _, l := range lines {
			bare := strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[36m", "").Replace(l.text)
			if strings.ContainsAny(bare, "\x1b\n\r\a") {
				t.Fatalf("controls in %q", l.text)
			}
			if w := textWidth(bare); w != l.width || width >= 4 && w >= width {
				t.Fatalf("%q: %d columns, said %d, of %d", bare, w, l.width, width)
			}
		}
	})
}

// running is one step's life as the engine reports it.
func running(lines int, end engine.StepStatus) []engine.Update {
	step := engine.Step{ID: "n01-a", Title: "first", Status: engine.StepRunning, StartedAt: noon}
	plan := &engine.Plan{ID: "fix-3fz9a", Steps: []engine.Step{step}}
	us := []engine.Update{
		{Kind: engine.UpdateNotice, Text: "strategy: overlay, because it can be mounted"},
		{Kind: engine.UpdatePlan, Plan: plan},
		{Kind: engine.UpdateStep, Step: &step, At: noon},
	}
	for i := range lines {
		us = append(us, engine.Update{Kind: engine.UpdateOutput, Step: &step, Text: fmt.Sprintf("line \x1b[2J%d\n", i+1)})
	}
	ended := step
	ended.Status, ended.EndedAt = end, at(1.5)
	if end == engine.StepFailed {
		ended.Exit = &engine.Exit{Code: 3}
	}
	return append(us, engine.Update{Kind: engine.UpdateStep, Step: &ended, Plan: plan, At: at(1.5)})
}

func TestPlainProgress(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := 6; i <= 25; i++ {
		fmt.Fprintf(&many, "    line %d\n", i)
	}
	for _, tt := range []struct {
		name    string
		verbose bool
		updates []engine.Update
		want    string
	}{
		{"done", false, running(2, engine.StepDone), "ambit: strategy: overlay, because it can be mounted\n▸ n01  first\n✓ n01  first  1.5s\n"},
		{"verbose", true, running(2, engine.StepDone), "ambit: strategy: overlay, because it can be mounted\n▸ n01  first\nn01 | line 1\nn01 | line 2\n✓ n01  first  1.5s\n"},
		{
			"failed", false, running(25, engine.StepFailed),
			"ambit: strategy: overlay, because it can be mounted\n▸ n01  first\n✗ n01  first  ended with code 3\n    … 5 lines before; ambit logs fix-3fz9a/n01 shows all\n" + many.String(),
		},
	} {
		var b bytes.Buffer
		d := &deps{stderr: &b, now: func() time.Time { return noon }}
		p := d.newProgress(tt.verbose, false)
		for _, u := range tt.updates {
			p.observe(u)
		}
		p.stop()
		if b.String() != tt.want {
			t.Errorf("%s:\n%q\nwant\n%q", tt.name, b.String(), tt.want)
		}
	}
}

func TestClockAndAge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		d          time.Duration
		clock, age string
	}{
		{-time.Second, "0s", "0s"},
		{400 * time.Millisecond, "0.4s", "0s"},
		{12 * time.Second, "12s", "12s"},
		{185 * time.Second, "3:05", "3m"},
		{3723 * time.Second, "1:02:03", "1h"},
		{50 * time.Hour, "50:00:00", "2d"},
	} {
		if clock(tt.d) != tt.clock || age(tt.d) != tt.age {
			t.Errorf("%s: clock %s, age %s; want %s, %s", tt.d, clock(tt.d), age(tt.d), tt.clock, tt.age)
		}
	}
}
