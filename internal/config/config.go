package config

import (
	"time"

	"github.com/ambit-run/ambit/engine"
)

// Config is everything that can be set beforehand. The zero value of each field
// means its default, which Load has filled in.
type Config struct {
	// StateDir is the state folder: $AMBIT_HOME, else $XDG_STATE_HOME/ambit, else
	// ~/.local/state/ambit. Absolute. Not settable in a file.
	StateDir string
	// Confine is the rung of confinement. Default auto.
	Confine engine.Rung
	// Network is what commands may reach. Default none.
	Network engine.Network
	// Home is what commands find in $HOME. Default tools.
	Home engine.HomeMode
	// Strategy is how resources are isolated. Default auto.
	Strategy engine.StrategyName
	// Dirty says what happens to uncommitted work where the lower is frozen. Default carry.
	Dirty engine.Dirty
	// Include are globs of ignored paths that a checkout would leave behind. Default none.
	Include []string
	// Env are names of variables (or NAME=VALUE) that pass into the sandbox beside
	// the allow-list. Default none.
	Env []string
	// OnFailure is "stop" (default) or "continue".
	OnFailure string
	// Timeout is the limit of one step of run. Default 60 minutes. A try or exec
	// has none unless a flag says so.
	Timeout time.Duration
	// Pager is the command that shows long output: $AMBIT_PAGER, the file, $PAGER,
	// "less -FRX". "cat" or an empty string written out means none.
	Pager string

	// TrashMaxBytes is how much all discarded plans may hold, in bytes, before the
	// oldest go for good. Default 10 GiB; engine.Unlimited = no limit.
	TrashMaxBytes int64
	// TrashMaxAge is how long a discarded plan can be restored. Default 30 days.
	TrashMaxAge time.Duration

	// Origins says where each value that is not a default came from, by key.
	Origins map[string]string
}

// DefaultTimeout is the limit of one step where nobody set one.
const DefaultTimeout = time.Hour

func defaults() Config {
	return Config{
		Confine:   engine.RungAuto,
		Network:   engine.NetworkNone,
		Home:      engine.HomeTools,
		Strategy:  engine.StrategyAuto,
		Dirty:     engine.DirtyCarry,
		OnFailure: "stop",
		Timeout:   DefaultTimeout,
		Pager:     "less -FRX",

		TrashMaxBytes: 10 << 30,
		TrashMaxAge:   30 * 24 * time.Hour,

		Origins: map[string]string{},
	}
}
