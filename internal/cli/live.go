package cli

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/ambit-run/ambit/engine"
)

// live draws the steps of a run as a tree that is redrawn in place. It owns the
// terminal behind stderr from newLive to stop; what has to stay is printed above
// the tree.
type live struct {
	d       *deps
	st      style
	out     *os.File
	notices *notices

	mu      sync.Mutex
	view    liveView
	outputs outputs
	drawn   []int // widths in columns of the lines on the screen

	done chan struct{}
	wait sync.WaitGroup
}

// liveEvery is how often the tree is redrawn while nothing happens but time.
const liveEvery = 100 * time.Millisecond

func newLive(d *deps) *live {
	l := &live{d: d, st: d.styleFor(d.stderr), out: terminalOf(d.stderr), notices: d.newNotices(), done: make(chan struct{})}
	l.view.st = l.st
	l.notices.redraw = func(text string) { l.view.busy = text } // drawn below the tree
	l.write(hideCursor)
	l.wait.Go(func() {
		tick := time.NewTicker(liveEvery)
		defer tick.Stop()
		for {
			select {
			case <-l.done:
				return
			case <-tick.C:
				l.mu.Lock()
				l.view.frame++
				l.draw()
				l.mu.Unlock()
			}
		}
	})
	return l
}

func (l *live) observe(u engine.Update) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u.Plan != nil {
		l.view.follow(u.Plan)
	}
	switch u.Kind {
	case engine.UpdateNotice, engine.UpdateProof, engine.UpdateProgress:
		l.above(func() { l.notices.observe(u) })
	case engine.UpdateOutput:
		if u.Step != nil {
			o := l.outputs.of(u.Step.ID)
			_, _ = o.cleaner.Write([]byte(u.Text))
			l.view.last[u.Step.ID] = o.last()
		}
	case engine.UpdateStep:
		if u.Step == nil {
			return
		}
		l.view.update(*u.Step)
		if u.Step.Status == engine.StepFailed {
			tail := l.outputs.of(u.Step.ID).failure(l.st, l.view.plan, u.Step.ID)
			l.above(func() {
				l.write(stepLine(l.st, *u.Step, u.At) + "\n")
				for _, t := range tail {
					l.write(t + "\n")
				}
			})
			return
		}
		l.draw()
	case engine.UpdatePlan:
		l.draw()
	}
}

// stop draws the end state in full and gives the cursor back.
func (l *live) stop() {
	close(l.done)
	l.wait.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.over = true
	l.draw()
	l.drawn = nil
	l.write(showCursor)
}

// above prints something that stays, and the tree below it.
func (l *live) above(print func()) {
	l.write(l.erase())
	l.drawn = nil
	print()
	l.draw()
}

// draw replaces the tree on the screen by the present one, in one write.
func (l *live) draw() {
	width, height, err := term.GetSize(int(l.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	lines := l.view.lines(l.d.now(), width, height)
	var b strings.Builder
	b.WriteString(l.erase())
	l.drawn = l.drawn[:0]
	for _, line := range lines {
		b.WriteString(line.text + "\n")
		l.drawn = append(l.drawn, line.width)
	}
	l.write(b.String())
}

// erase moves to the top of the tree and clears from there on. A line that has
// become wider than the terminal, which may have shrunk, takes several rows.
func (l *live) erase() string {
	width, _, err := term.GetSize(int(l.out.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	rows := 0
	for _, w := range l.drawn {
		rows += max(1, (w+width-1)/width)
	}
	if rows == 0 {
		return "\r\x1b[J"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows)
}

func (l *live) write(s string) { _, _ = l.out.WriteString(s) }
