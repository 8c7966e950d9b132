package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/ambit-run/ambit/changeset"
	"github.com/ambit-run/ambit/fault"
)

const (
	errLink  = syscall.ELOOP
	errCross = syscall.EXDEV
)

// conflicts collects paths that stand in the way, each with the first reason.
// Safe for concurrent use.
type conflicts struct {
	mu   sync.Mutex
	why  map[string]string
	hint string
}

func (c *conflicts) add(path, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = map[string]string{}
	}
	if c.why[path] == "" {
		c.why[path] = why
	}
}

func (c *conflicts) has(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why[path] != ""
}

// spelledOut is how many reasons an error's message holds.
const spelledOut = 4

// err is one error of the given code that names every path, or nil.
func (c *conflicts) err(code fault.Code, opName string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.why) == 0 {
		return nil
	}
	paths := slices.Sorted(maps.Keys(c.why))
	var said []string
	for _, p := range paths[:min(len(paths), spelledOut)] {
		said = append(said, changeset.Quote(p)+": "+c.why[p])
	}
	if n := len(paths) - spelledOut; n > 0 {
		said = append(said, fmt.Sprintf("and %d more", n))
	}
	e := fault.New(code, opName, "%s", strings.Join(said, "; ")).WithPaths(paths...)
	if c.hint != "" {
		e.Hint = c.hint
	}
	return e
}

func hashOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}
