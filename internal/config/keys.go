package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ambit-run/ambit/engine"
)

// Values of the enumerations, in the order in which they are offered; Later*
// are known to the design but not to this version.
var (
	Rungs           = []string{"auto", "native", "landlock", "none"}
	LaterRungs      = []string{"docker"}
	Networks        = []string{"none", "host"}
	LaterNetworks   = []string{"allow"}
	Homes           = []string{"tools", "hidden", "ro"}
	Strategies      = []string{"auto", "overlay", "git_worktree", "copy_on_write", "filesystem_copy", "none"}
	LaterStrategies = []string{"snapshot", "transaction_rollback"}
	Dirties         = []string{"carry", "refuse", "hide"}
	Failures        = []string{"stop", "continue"}
)

// A key is one thing that can be set.
type key struct {
	name    string   // in YAML
	env     string   // environment variable; lists are separated by commas there
	list    bool     // a list of strings
	values  []string // what is known; nil = anything
	later   []string // what a later version knows
	project rule     // what .ambit.yaml may do with it; nil = nothing
	access
}

// access reads and writes a key's field in a Config.
type access struct {
	get func(*Config) []string
	set func(*Config, []string) error
}

func one[T ~string](field func(*Config) *T) access {
	return access{
		func(c *Config) []string { return []string{string(*field(c))} },
		func(c *Config, v []string) error { *field(c) = T(v[0]); return nil },
	}
}

func many(field func(*Config) *[]string) access {
	return access{
		func(c *Config) []string { return *field(c) },
		func(c *Config, v []string) error { *field(c) = v; return nil },
	}
}

func duration(field func(*Config) *time.Duration) access {
	return access{
		func(c *Config) []string { return []string{field(c).String()} },
		func(c *Config, v []string) (err error) { *field(c), err = ParseTimeout(v[0]); return err },
	}
}

// keys is the table of everything that can be set, in the order of the documents.
func keys() []key {
	return []key{
		{
			name: "confine", env: "AMBIT_CONFINE", values: Rungs, later: LaterRungs,
			project: tighter("none", "landlock", "auto", "native"),
			access:  one(func(c *Config) *engine.Rung { return &c.Confine }),
		},
		{
			name: "network", env: "AMBIT_NETWORK", values: Networks, later: LaterNetworks,
			project: tighter("host", "none"),
			access:  one(func(c *Config) *engine.Network { return &c.Network }),
		},
		{
			name: "home", env: "AMBIT_HOME_MODE", values: Homes,
			project: tighter("ro", "tools", "hidden"),
			access:  one(func(c *Config) *engine.HomeMode { return &c.Home }),
		},
		{
			name: "strategy", env: "AMBIT_STRATEGY", values: Strategies, later: LaterStrategies,
			project: isolating,
			access:  one(func(c *Config) *engine.StrategyName { return &c.Strategy }),
		},
		{
			name: "dirty", env: "AMBIT_DIRTY", values: Dirties,
			access: one(func(c *Config) *engine.Dirty { return &c.Dirty }),
		},
		{
			name: "include", env: "AMBIT_INCLUDE", list: true,
			project: adding,
			access:  many(func(c *Config) *[]string { return &c.Include }),
		},
		{
			name: "env", env: "AMBIT_ENV", list: true,
			access: many(func(c *Config) *[]string { return &c.Env }),
		},
		{
			name: "on_failure", env: "AMBIT_ON_FAILURE", values: Failures,
			project: tighter("continue", "stop"),
			access:  one(func(c *Config) *string { return &c.OnFailure }),
		},
		{
			name: "timeout", env: "AMBIT_TIMEOUT",
			project: shorter,
			access:  duration(func(c *Config) *time.Duration { return &c.Timeout }),
		},
		{
			name: "pager", env: "AMBIT_PAGER",
			access: one(func(c *Config) *string { return &c.Pager }),
		},
		{
			name: "trash.max_bytes", env: "AMBIT_TRASH_MAX_BYTES",
			access: access{
				func(c *Config) []string { return []string{strconv.FormatInt(c.TrashMaxBytes, 10)} },
				func(c *Config, v []string) (err error) { c.TrashMaxBytes, err = parseBytes(v[0]); return err },
			},
		},
		{
			name: "trash.max_age", env: "AMBIT_TRASH_MAX_AGE",
			access: access{
				func(c *Config) []string { return []string{c.TrashMaxAge.String()} },
				func(c *Config, v []string) (err error) { c.TrashMaxAge, err = parseAge(v[0]); return err },
			},
		},
	}
}

// ParseTimeout reads a positive duration such as "90s", "10m" or "1h30m".
func ParseTimeout(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration; write it like 90s, 10m or 1h30m", s)
	}
	return d, nil
}

// parseBytes reads a size such as "500MB", "10GiB" or "1048576"; "unlimited" is one, too.
func parseBytes(s string) (int64, error) {
	if s == "unlimited" {
		return engine.Unlimited, nil
	}
	digits := strings.TrimRight(s, "kKMGTiB")
	n, err := strconv.ParseInt(digits, 10, 64)
	unit, ok := map[string]int64{
		"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	}[strings.TrimPrefix(s, digits)]
	if err != nil || !ok || n <= 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is not a size; write it like 500MB, 10GiB or unlimited", s)
	}
	return n * unit, nil
}

// parseAge reads a duration of days, "30d", or as ParseTimeout does.
func parseAge(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n <= 0 || n > 36500 {
			return 0, fmt.Errorf("%q is not a number of days; write it like 30d", s)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := ParseTimeout(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time; write it like 30d or 12h", s)
	}
	return d, nil
}

// check says what is wrong with the values, and what would be right; "" is fine.
func (k key) check(values []string) (summary, hint string) {
	for _, v := range values {
		switch {
		case strings.ContainsRune(v, 0):
			return k.name + ": a value with a NUL byte", ""
		case k.values == nil || slices.Contains(k.values, v):
		case slices.Contains(k.later, v):
			return fmt.Sprintf("%s: %s is not supported by this version", k.name, v), "use one of: " + strings.Join(k.values, ", ")
		default:
			return fmt.Sprintf("%s: %q is not known", k.name, v), "use one of: " + strings.Join(k.values, ", ")
		}
	}
	var err error
	switch k.name {
	case "timeout":
		_, err = ParseTimeout(values[0])
	case "trash.max_bytes":
		_, err = parseBytes(values[0])
	case "trash.max_age":
		_, err = parseAge(values[0])
	}
	if err != nil {
		return k.name + ": " + err.Error(), ""
	}
	return "", ""
}
