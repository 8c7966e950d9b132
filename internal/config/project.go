package config

import (
	"fmt"
	"slices"
)

// A rule says what a project's file makes of a key: the values that then hold,
// or why the file's are not taken.
type rule func(have, want []string) (values []string, refused string)

// tighter takes a value that stands further right in order than the present one.
func tighter(order ...string) rule {
	return func(have, want []string) ([]string, string) {
		h, w := slices.Index(order, have[0]), slices.Index(order, want[0])
		if w < h {
			return nil, fmt.Sprintf("%s would be weaker than %s, and a project's file can only tighten", want[0], have[0])
		}
		return want, ""
	}
}

// isolating takes a strategy where the person left the choice open or had none.
func isolating(have, want []string) ([]string, string) {
	switch {
	case want[0] == "none":
		return nil, "a project's file cannot switch isolation off"
	case have[0] != "auto" && have[0] != "none" && have[0] != want[0]:
		return nil, fmt.Sprintf("%s was chosen by the person", have[0])
	}
	return want, ""
}

// shorter takes a limit below the present one.
func shorter(have, want []string) ([]string, string) {
	h, errH := ParseTimeout(have[0])
	w, errW := ParseTimeout(want[0])
	if errH == nil && errW == nil && w > h {
		return nil, fmt.Sprintf("%s is longer than %s, and a project's file can only tighten", w, h)
	}
	return want, ""
}

// adding takes what is not there yet.
func adding(have, want []string) ([]string, string) {
	out := slices.Clone(have)
	for _, v := range want {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out, ""
}
