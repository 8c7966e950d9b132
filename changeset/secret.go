package changeset

import (
	"bytes"
	"io"
	"path"
	"regexp"
	"strings"
	"sync"
)

// secretName says why a name looks like that of a credential, or "".
func secretName(p string) string {
	lower := strings.ToLower(p)
	base := path.Base(lower)
	if secretNames[base] {
		return "named like a credential"
	}
	for _, tail := range secretPaths {
		if lower == tail || strings.HasSuffix(lower, "/"+tail) {
			return "named like a credential"
		}
	}
	switch path.Ext(base) {
	case ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".asc", ".gpg", ".tfstate":
		return "named like a key"
	}
	if rest, ok := strings.CutPrefix(base, ".env"); ok && (rest == "" || rest[0] == '.') {
		switch rest {
		case ".example", ".sample", ".template", ".dist", ".defaults":
			return ""
		}
		return "an environment file"
	}
	return ""
}

var secretNames = set(
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ed25519_sk", "id_ecdsa_sk", ".netrc", "_netrc", ".pgpass", ".my.cnf",
	".pypirc", ".git-credentials", ".htpasswd", ".vault-token", "kubeconfig", "credentials.json",
	"service-account.json", "client_secret.json", ".dockercfg",
)

var secretPaths = []string{".aws/credentials", ".docker/config.json", ".kube/config", ".config/gh/hosts.yml", ".cargo/credentials.toml"}

// secretPatterns are forms that credentials of known issuers have. Expressions
// are linear (RE2) and need no match across lines.
var secretPatterns = []secretPattern{
	secret("a private key", `-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`, "PRIVATE KEY"),
	secret("an AWS access key", `\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`, "AKIA", "ASIA"),
	secret("a GitHub token", `\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
	secret("a GitLab token", `\bglpat-[A-Za-z0-9_-]{20,}`, "glpat-"),
	secret("a Slack token", `\bxox[abprs]-[0-9A-Za-z-]{10,}`, "xox"),
	secret("a Stripe key", `\b[rs]k_live_[0-9A-Za-z]{16,}`, "k_live_"),
	secret("an Anthropic key", `\bsk-ant-[A-Za-z0-9_-]{20,}`, "sk-ant-"),
	secret("an OpenAI key", `\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}`, "sk-"),
	secret("a Google key", `\bAIza[0-9A-Za-z_-]{35}`, "AIza"),
	secret("an npm token", `\bnpm_[A-Za-z0-9]{36}`, "npm_"),
	secret("a PyPI token", `\bpypi-AgEI[A-Za-z0-9_-]{50,}`, "pypi-AgEI"),
	secret("an age key", `\bAGE-SECRET-KEY-1[0-9A-Z]{50,}`, "AGE-SECRET-KEY-1"),
	secret("a password in a URL", `\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@"'<>]{1,64}:[^\s/:@"'<>${}*]{6,128}@[a-zA-Z0-9\[]`, "://"),
}

// secretPattern is one form.
type secretPattern struct {
	what string
	// needs are texts of which every match holds one. Looking for them takes a
	// hundredth of the time of the expression, which is compiled when one is met.
	needs []string
	re    func() *regexp.Regexp
}

func secret(what, re string, needs ...string) secretPattern {
	return secretPattern{what, needs, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(re) })}
}

// find returns where the form occurs, at most 64 times.
func (p secretPattern) find(text []byte) [][]int {
	for _, n := range p.needs {
		if bytes.Contains(text, []byte(n)) {
			return p.re().FindAllIndex(text, 64)
		}
	}
	return nil
}

// placeholder passwords that documentation puts into URLs.
var placeholder = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i):(?:password|passwd|secret|changeme|example|postgres|xxx+)@`)
})

// scannable reports whether a change leaves new bytes that may hold a credential.
func scannable(c *Change) bool {
	if c.After == nil || c.After.Kind != File || c.After.Size == 0 {
		return false
	}
	return c.Before == nil || c.Before.Kind != File || c.Before.Hash != c.After.Hash || c.Before.Hash == ""
}

// scanSecrets says which credential the after side holds and the before side
// does not, within the first limit bytes of each; "" if none.
func scanSecrets(c *Change, src Source, limit int64) (string, error) {
	after, err := readHead(src, After, c.Path, limit)
	if err != nil {
		return "", err
	}
	var before []byte
	readBefore := c.Before == nil || c.Before.Kind != File
	for _, p := range secretPatterns {
		for _, at := range p.find(after) {
			found := after[at[0]:at[1]]
			if placeholder().Match(found) {
				continue
			}
			if !readBefore {
				if before, err = readHead(src, Before, c.oldPath(), limit); err != nil {
					return "", err
				}
				readBefore = true
			}
			if bytes.Contains(before, found) {
				continue
			}
			line := 1 + bytes.Count(after[:at[0]], []byte{'\n'})
			return "line " + itoa(line) + " holds what looks like " + p.what, nil
		}
	}
	return "", nil
}

// readHead reads at most limit bytes of a file's contents.
func readHead(src Source, side Side, p string, limit int64) ([]byte, error) {
	r, err := src.Open(side, p)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, limit))
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return data, err
}

// oldPath is where the before side of the change lies.
func (c *Change) oldPath() string {
	if c.From != "" {
		return c.From
	}
	return c.Path
}
