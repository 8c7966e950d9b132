// Package greet puts greetings together.
package greet

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxName is the longest name that is greeted, in characters.
const MaxName = 80

// Greeter greets in the languages it knows.
type Greeter struct {
	words map[string]string
}

// New returns a Greeter with its built-in languages.
func New() *Greeter {
	return &Greeter{words: map[string]string{
		"de": "Hallo",
		"en": "Hello",
		"fr": "Bonjour",
		"ja": "こんにちは",
	}}
}

// Languages lists what the Greeter knows, sorted.
func (g *Greeter) Languages() []string {
	var out []string
	for l := range g.words {
		out = append(out, l)
	}
	slices.Sort(out)
	return out
}

// Greet greets a name. The language is that of an Accept-Language header: the
// first one that is known wins, English is the last resort.
func (g *Greeter) Greet(name, accept string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		name = "world"
	}
	if n := utf8.RuneCountInString(name); n > MaxName {
		return "", fmt.Errorf("name has %d characters, at most %d are greeted", n, MaxName)
	}
	return g.words[g.pick(accept)] + ", " + name + "!", nil
}

func (g *Greeter) pick(accept string) string {
	for part := range strings.SplitSeq(accept, ",") {
		tag, _, _ := strings.Cut(strings.TrimSpace(part), ";")
		base, _, _ := strings.Cut(strings.ToLower(tag), "-")
		if _, ok := g.words[base]; ok {
			return base
		}
	}
	return "en"
}
