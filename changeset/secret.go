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
// are linear (RE2) and need no match across lines. They are compiled when first
// used: that takes as long as a fifth of the start of the program, and the
// program starts itself several times for one command.
var secretPatterns = sync.OnceValue(func() []secretPattern {
	return []secretPattern{
		{"a private key", regexp.MustCompile(`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`)},
		{"an AWS access key", regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`)},
		{"a GitHub token", regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})`)},
		{"a GitLab token", regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`)},
		{"a Slack token", regexp.MustCompile(`\bxox[abprs]-[0-9A-Za-z-]{10,}`)},
		{"a Stripe key", regexp.MustCompile(`\b[rs]k_live_[0-9A-Za-z]{16,}`)},
		{"an Anthropic key", regexp.MustCompile(`\bsk-ant-[A-Za-z0-9_-]{20,}`)},
		{"an OpenAI key", regexp.MustCompile(`\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{32,}`)},
		{"a Google key", regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`)},
		{"an npm token", regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}`)},
		{"a PyPI token", regexp.MustCompile(`\bpypi-AgEI[A-Za-z0-9_-]{50,}`)},
		{"an age key", regexp.MustCompile(`\bAGE-SECRET-KEY-1[0-9A-Z]{50,}`)},
		{"a password in a URL", regexp.MustCompile(`\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@"'<>]{1,64}:[^\s/:@"'<>${}*]{6,128}@[a-zA-Z0-9\[]`)},
	}
})

type secretPattern struct {
	what string
	re   *regexp.Regexp
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
	for _, p := range secretPatterns() {
		for _, at := range p.re.FindAllIndex(after, 64) {
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
