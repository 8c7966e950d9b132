package config

import (
	"testing"
	"time"

	"github.com/ambit-run/ambit/engine"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int64{
		"1": 1, "500MB": 500e6, "10GiB": 10 << 30, "2kB": 2000, "3TiB": 3 << 40, "unlimited": engine.Unlimited,
		"": 0, "0": 0, "-1": 0, "1.5GB": 0, "10 GB": 0, "GB": 0, "1gb": 0, "99999999TB": 0, "1GBB": 0,
	} {
		if got, err := parseBytes(s); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %d, %v; want %d", s, got, err, want)
		}
	}
}

func TestAges(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{
		"30d": 30 * 24 * time.Hour, "12h": 12 * time.Hour, "1ms": time.Millisecond,
		"": 0, "d": 0, "-1d": 0, "0d": 0, "1.5d": 0, "30": 0, "99999d": 0,
	} {
		if got, err := parseAge(s); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %v, %v; want %v", s, got, err, want)
		}
	}
}
