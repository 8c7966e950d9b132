package gitx

import (
	"fmt"
	"path/filepath"
	"strings"
)

// setting is one git configuration value passed in the command scope, which wins
// over every file and every include.
type setting struct{ key, value string }

// hardening switches off every setting by which a repository's configuration
// could start a program, reach the network or change what ambit did not ask for.
// Keys with a free middle part (filter.NAME.clean, diff.NAME.textconv,
// merge.NAME.driver) cannot be listed; no command that would read them runs
// outside Plain.
var hardening = []setting{
	{"core.hooksPath", "/dev/null"},
	{"core.fsmonitor", "false"},
	{"core.untrackedCache", "false"},
	{"core.splitIndex", "false"},
	{"core.alternateRefsCommand", "false"},
	{"core.askPass", "false"},
	{"core.attributesFile", "/dev/null"},
	{"core.editor", "false"},
	{"core.gitProxy", "false"},
	{"core.pager", "cat"},
	{"core.sshCommand", "false"},
	{"sequence.editor", "false"},
	{"credential.helper", ""},
	{"gpg.program", "false"},
	{"gpg.ssh.program", "false"},
	{"gpg.x509.program", "false"},
	{"commit.gpgSign", "false"},
	{"tag.gpgSign", "false"},
	{"log.showSignature", "false"},
	{"gc.auto", "0"},
	{"gc.autoDetach", "false"},
	{"gc.recentObjectsHook", "false"},
	{"maintenance.auto", "false"},
	{"protocol.allow", "never"},
	{"submodule.recurse", "false"},
	{"fetch.recurseSubmodules", "false"},
	{"push.gpgSign", "false"},
	{"fetch.fsckObjects", "true"},
	{"transfer.fsckObjects", "true"},
	{"core.protectHFS", "true"},
	{"core.protectNTFS", "true"},
	{"advice.detachedHead", "false"},
	{"branch.autoSetupMerge", "false"},
}

// baseEnv is what every git process gets, whatever the caller's environment is
// (C28, C29).
func baseEnv(binary string) []string {
	path := "/usr/local/bin:/usr/bin:/bin"
	if dir := filepath.Dir(binary); !strings.Contains(":"+path+":", ":"+dir+":") {
		path = dir + ":" + path
	}
	return []string{
		"PATH=" + path,
		"HOME=/nonexistent",
		"XDG_CONFIG_HOME=/nonexistent",
		"LC_ALL=C",
		"TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=/bin/false",
		"SSH_ASKPASS=/bin/false",
		"GIT_SSH_COMMAND=/bin/false",
		"GIT_EDITOR=/bin/false",
		"GIT_PAGER=cat",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_LITERAL_PATHSPECS=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_ALLOW_PROTOCOL=none",
		"GIT_PROTOCOL_FROM_USER=0",
		"GIT_DISCOVERY_ACROSS_FILESYSTEM=0",
		"GIT_ADVICE=0",
	}
}

// settingsEnv renders settings as GIT_CONFIG_COUNT and its pairs. Unlike -c they
// need no quoting and reach the git processes that git itself starts.
func settingsEnv(lists ...[]setting) []string {
	var env []string
	n := 0
	for _, list := range lists {
		for _, s := range list {
			env = append(env,
				fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, s.key),
				fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, s.value))
			n++
		}
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n))
}

// allowedEnv lists the variables a caller may add to a command.
var allowedEnv = map[string]bool{
	"GIT_AUTHOR_NAME": true, "GIT_AUTHOR_EMAIL": true, "GIT_AUTHOR_DATE": true,
	"GIT_COMMITTER_NAME": true, "GIT_COMMITTER_EMAIL": true, "GIT_COMMITTER_DATE": true,
}

// quoteAlternate writes one entry of GIT_ALTERNATE_OBJECT_DIRECTORIES. An entry
// that begins with a double quote is C-quoted, which git reads since 2.11.
func quoteAlternate(path string) string {
	if !strings.ContainsAny(path, ":\"\\\n") && !strings.HasPrefix(path, "#") {
		return path
	}
	return quoteC(path)
}

// quoteC quotes as git's C-style quoting does.
func quoteC(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
