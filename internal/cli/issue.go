package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/internal/bounded"
	"github.com/ambit-run/ambit/ticket"
)

// issueName is gh:OWNER/REPO#N. The parts become arguments of gh, so none may
// begin with a dash.
var issueName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^gh:([A-Za-z0-9][A-Za-z0-9-]{0,99})/([A-Za-z0-9_.][A-Za-z0-9_.-]{0,99})#([1-9][0-9]{0,9})$`)
})

// issuePatience is how long gh may take to answer: it asks a server.
const issuePatience = time.Minute

func isIssue(name string) bool { return strings.HasPrefix(name, "gh:") }

// issueInput asks the program gh for an issue: its title is the objective, its
// text the ticket. gh uses the person's own login; ambit sees none of it.
func (d *deps) issueInput(ctx context.Context, name string) (*ticketInput, error) {
	m := issueName().FindStringSubmatch(name)
	if m == nil {
		return nil, &usageError{message: fmt.Sprintf("%s names no issue", visible(name)), hint: "write gh:OWNER/REPO#N, in quotes: a shell may take # for a remark"}
	}
	owner, repo, number := m[1], m[2], m[3]
	gh, err := exec.LookPath("gh")
	if err != nil {
		return nil, fault.New(fault.Unavailable, "read issue", "%s needs the program gh, and there is none on PATH", name).WithCause(err).
			WithHint("install GitHub's gh and run gh auth login; or save the issue's text in a file and name that")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, issuePatience, errors.New("gh did not answer"))
	defer cancel()
	cmd := exec.CommandContext(ctx, gh, "issue", "view", number, "--repo", owner+"/"+repo, "--json", "number,title,body")
	cmd.Env = append(d.environ[:len(d.environ):len(d.environ)], "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "NO_COLOR=1")
	out, complaint := &bounded.Buffer{Max: 2 * ticket.DefaultMaxBytes}, &bounded.Buffer{Max: 64 << 10}
	cmd.Stdout, cmd.Stderr = out, complaint
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		said, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(complaint.String(), "")), "\n")
		if said == "" {
			said = err.Error()
		}
		return nil, fault.New(fault.Unavailable, "read issue", "gh does not give %s: %s", name, said).WithCause(err).
			WithHint("see what it says to: gh issue view %s --repo %s/%s", number, owner, repo)
	}
	var issue struct {
		Number int
		Title  string
		Body   string
	}
	if err := json.Unmarshal(out.Bytes(), &issue); err != nil || out.Over() {
		return nil, fault.New(fault.Unavailable, "read issue", "what gh says of %s is no issue", name).WithCause(err).
			WithHint("see what it says to: gh issue view %s --repo %s/%s --json number,title,body", number, owner, repo)
	}
	return &ticketInput{
		name: name, sources: []ticket.Source{{Name: name, Data: []byte(issue.Body)}},
		opts: ticket.Options{Format: ticket.FormatGitHub, ID: repo + "-" + number, Objective: strings.TrimSpace(issue.Title)},
	}, nil
}
