//go:build !race

package holder

// SelfEnv is the environment of ambit's own inner processes: env, and not nil,
// which would mean the environment of the caller.
func SelfEnv(env ...string) []string { return append([]string{}, env...) }
