package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ambit-run/ambit/fault"
)

func testJournal(t *testing.T) journal {
	t.Helper()
	return journal{path: filepath.Join(t.TempDir(), "journal")}
}

func TestJournalReadsBackWhatWasAppended(t *testing.T) {
	t.Parallel()
	j := testJournal(t)
	if lines, err := j.read(); err != nil || len(lines) != 0 {
		t.Fatalf("an absent journal is empty, got %v, %v", lines, err)
	}
	for _, k := range []journalKind{journalPrepare, journalCommit, journalDone} {
		l := journalLine{Kind: k, Apply: "a1"}
		if k == journalCommit {
			l.Targets = []journalTarget{{Sandbox: "s1", To: ToWorktree, State: []byte(`{"x":1}`)}}
		}
		if err := j.append(l); err != nil {
			t.Fatal(err)
		}
	}
	last, states, err := j.open()
	if err != nil {
		t.Fatal(err)
	}
	if last.Kind != journalDone || states.Kind != journalCommit || string(states.Targets[0].State) != `{"x":1}` {
		t.Fatalf("got last %+v, states %+v", last, states)
	}
}

// A line that was cut off before its newline was never a decision: it is not
// read, and the next append replaces it.
func TestJournalDropsTornTailAtEveryByte(t *testing.T) {
	t.Parallel()
	full := testJournal(t)
	for _, k := range []journalKind{journalPrepare, journalCommit} {
		if err := full.append(journalLine{Kind: k, Apply: "a1"}); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(full.path)
	if err != nil {
		t.Fatal(err)
	}
	first := 0
	for raw[first] != '\n' {
		first++
	}
	for cut := first + 1; cut < len(raw); cut++ {
		j := testJournal(t)
		if err := os.WriteFile(j.path, raw[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		last, _, err := j.open()
		if err != nil || last.Kind != journalPrepare {
			t.Fatalf("cut at %d: got %+v, %v", cut, last, err)
		}
		if err := j.append(journalLine{Kind: journalAbandon, Apply: "a1"}); err != nil {
			t.Fatal(err)
		}
		lines, err := j.read()
		if err != nil || len(lines) != 2 || lines[1].Kind != journalAbandon {
			t.Fatalf("cut at %d: after append got %+v, %v", cut, lines, err)
		}
	}
}

func TestJournalRefusesDamagedLine(t *testing.T) {
	t.Parallel()
	j := testJournal(t)
	if err := os.WriteFile(j.path, []byte("{\"kind\":\"prepare\"}\n{\"kind\":\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := j.read(); !fault.Is(err, fault.Internal) {
		t.Fatalf("a damaged whole line must stop everything, got %v", err)
	}
}
