//go:build race

package holder

// SelfEnv is the environment of ambit's own inner processes. Under the race
// detector a process sleeps for a second before it exits, unless told otherwise.
func SelfEnv(env ...string) []string { return append(env, "GORACE=atexit_sleep_ms=0") }
