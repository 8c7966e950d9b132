package engine

import (
	"sort"
	"strings"
)

// passed are the variables of the person's environment that a command may see:
// where programs are, how the terminal speaks, and where tool chains and caches
// lie. None of them holds a credential by convention; everything else needs
// --env (design page "boundary": the environment is an allow-list).
var passed = map[string]bool{
	"PATH": true, "LANG": true, "LANGUAGE": true, "TERM": true, "COLORTERM": true, "NO_COLOR": true, "TZ": true,
	"USER": true, "LOGNAME": true, "SHELL": true, "EDITOR": true, "VISUAL": true,
	"GOPATH": true, "GOROOT": true, "GOCACHE": true, "GOMODCACHE": true, "GOFLAGS": true, "GOTOOLCHAIN": true, "CGO_ENABLED": true,
	"CARGO_HOME": true, "RUSTUP_HOME": true, "NVM_DIR": true, "NVM_BIN": true, "FNM_DIR": true, "VOLTA_HOME": true, "PYENV_ROOT": true, "PYENV_VERSION": true,
	"VIRTUAL_ENV": true, "JAVA_HOME": true, "SDKMAN_DIR": true, "ASDF_DIR": true, "ASDF_DATA_DIR": true, "MISE_DATA_DIR": true, "PNPM_HOME": true, "UV_CACHE_DIR": true,
	"PKG_CONFIG_PATH": true, "CC": true, "CXX": true, "CFLAGS": true, "LDFLAGS": true, "MAKEFLAGS": true,
}

// proxies pass only where the network is the host's.
var proxies = map[string]bool{
	"HTTP_PROXY": true, "HTTPS_PROXY": true, "NO_PROXY": true, "ALL_PROXY": true,
	"http_proxy": true, "https_proxy": true, "no_proxy": true, "all_proxy": true,
}

// commandEnv builds the complete environment of a command: the allow-listed part
// of environ, what the plan's options name, what the sandboxes need, and
// ambit's own variables. Later entries win. The result is sorted.
func (e *Engine) commandEnv(p *Plan, environ []string, entrances []Entrance, own map[string]string) []string {
	vars := map[string]string{}
	given := map[string]string{}
	for _, kv := range environ {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			continue
		}
		given[k] = v
		if passed[k] || strings.HasPrefix(k, "LC_") || (p.Options.Network == NetworkHost && proxies[k]) {
			vars[k] = v
		}
	}
	vars["HOME"] = e.cfg.HomeDir
	for _, kv := range p.Options.Env {
		k, v, ok := strings.Cut(kv, "=")
		if !ok {
			v, ok = given[k], given[k] != ""
		}
		if ok {
			vars[k] = v
		}
	}
	for _, en := range entrances {
		for _, kv := range en.Env {
			if k, v, ok := strings.Cut(kv, "="); ok {
				vars[k] = v
			}
		}
	}
	vars["AMBIT"], vars["AMBIT_PLAN"] = "1", p.ID
	for k, v := range own {
		vars[k] = v
	}
	out := make([]string, 0, len(vars))
	for k, v := range vars {
		out = append(out, k+"="+v)
	}
	sort.Strings(out)
	return out
}

// lookup finds a variable in an environment.
func lookup(environ []string, key string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(environ[i], key+"="); ok {
			return v
		}
	}
	return ""
}
