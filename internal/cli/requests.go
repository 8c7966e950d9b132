package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ambit-run/ambit/engine"
	"github.com/ambit-run/ambit/fault"
	"github.com/ambit-run/ambit/ticket"
)

// requests looks at what a ticket's front matter asks for. A ticket only
// requests: flags grant, or a person who is asked. It returns the resources of
// the plan and the network.
func (d *deps) requests(ctx context.Context, cmd *cobra.Command, o *runOptions, t *ticket.Ticket, path, dir string, network engine.Network) ([]string, engine.Network, error) {
	for _, r := range [][2]string{{"image", t.Image}, {"project", t.Project}} {
		if r[1] != "" {
			d.note("the ticket asks for %s %s, which this version does not know; it is left out", r[0], r[1])
		}
	}
	network, err := d.requestNetwork(ctx, engine.Network(t.Network), network, cmd.Flags().Changed("network"))
	if err != nil {
		return nil, "", err
	}
	resources, err := d.requestResources(ctx, t.Resources, o.paths(dir), path, dir)
	return resources, network, err
}

func (d *deps) requestNetwork(ctx context.Context, asked, have engine.Network, said bool) (engine.Network, error) {
	switch {
	case asked == "" || asked == have:
		return have, nil
	case said:
		d.note("the ticket asks for network %s; it gets %s, as you said", asked, have)
		return have, nil
	case asked == engine.NetworkNone: // less than the configuration gives
		return asked, nil
	case asked != engine.NetworkHost:
		return "", fault.New(fault.Unsupported, "grant requests", "the ticket asks for network %s, which this version does not know", asked).
			WithHint("--network none runs it without, --network host gives it the network of this machine")
	}
	yes, err := d.grant(ctx, "network host", "--network host grants it, --network none runs without")
	if yes {
		have = asked
	}
	return have, err
}

// requestResources returns the paths of the plan's resources; none means the
// resource that holds dir. A ticket's paths are relative to its own folder.
func (d *deps) requestResources(ctx context.Context, asked, given []string, path, dir string) ([]string, error) {
	switch {
	case len(asked) == 0:
		return given, nil
	case len(given) > 0:
		d.note("the ticket asks for resources %s; it gets those you named", strings.Join(asked, ", "))
		return given, nil
	}
	base := dir
	if path != "" {
		base = engine.TicketHome(path)
	}
	wanted, flags := []string{dir}, "--resource ."
	for _, r := range asked {
		p := absolute(base, r)
		wanted = append(wanted, p)
		flags += " --resource " + p
	}
	yes, err := d.grant(ctx, "resources "+strings.Join(wanted[1:], ", "), flags+" grants them, --resource . runs without")
	if err != nil || !yes {
		return nil, err
	}
	return wanted, nil
}

// grant asks whether a request of the ticket is granted. Where nobody can be
// asked, the person has to say it by flag. Where nothing is going to run, it is
// noted and taken as granted.
func (d *deps) grant(ctx context.Context, what, flags string) (bool, error) {
	if d.ungranted != nil {
		*d.ungranted = append(*d.ungranted, engine.Missing{
			Code: fault.Denied, What: "the ticket asks for " + what + ", which only you can grant", Hint: flags,
		})
		return true, nil
	}
	if !d.canAsk() {
		return false, fault.New(fault.Denied, "grant requests", "the ticket asks for %s, and a ticket cannot grant that to itself", what).
			WithHint("%s", flags)
	}
	answer, err := d.ask(ctx, "the ticket asks for "+visible(what)+"; grant it? [y/N]")
	if errors.Is(err, errNoAnswer) {
		return false, nil
	}
	return answer == "y" || answer == "yes", err
}

// note tells the person something on stderr, unless they want JSON.
func (d *deps) note(format string, args ...any) {
	if !d.json {
		d.newNotices().line(fmt.Sprintf(format, args...))
	}
}
