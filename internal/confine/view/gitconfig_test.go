package view

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestParseGitAgreesWithGit reads the same files with the real git.
func TestParseGitAgreesWithGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	for name, src := range map[string]string{
		"plain":      "[user]\n\tname = Ada Lovelace\n\temail=a@x # who\n",
		"quotes":     "[user]\nname = \"  A \\\"B\\\"; # C \" ; comment\n",
		"escapes":    "[alias]\n l = log \\\n --oneline\n t = \"a\\tb\\\\c\"\n",
		"subsection": "[url \"git@host:\"]\ninsteadOf = x\n[Branch \"Main\"]\nRemote = origin\n",
		"bare":       "[core]\n\tbare\n[user]name=one-line\n",
		"crlf":       "[user]\r\n\tname = A\r\n",
		"blanks":     "[user]\n\tname =   a   b  \n  email = \"x\"  \"y\" z \n",
		"empty":      "",
		"comment":    "# c\n; d\n[a]\n# e\nb = c;d\n",
		"bom":        "\ufeff[user]\nname = x\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(f, []byte(src), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(git, "config", "--no-includes", "-z", "--list", "--file", f).Output()
			if err != nil {
				t.Fatalf("git: %v", err)
			}
			var got strings.Builder
			for _, s := range parseGit(src) {
				got.WriteString(s.name())
				if !s.bare {
					got.WriteString("\n" + s.value)
				}
				got.WriteByte(0)
			}
			if got.String() != string(out) {
				t.Errorf("got %q, git says %q", got.String(), out)
			}
			// And git reads back what we write.
			back := filepath.Join(t.TempDir(), "back")
			if err := os.WriteFile(back, []byte(renderGit(parseGit(src))), 0o600); err != nil {
				t.Fatal(err)
			}
			again, err := exec.Command(git, "config", "--no-includes", "-z", "--list", "--file", back).Output()
			if err != nil || string(again) != string(out) {
				t.Errorf("rendered: %q, %v; want %q", again, err, out)
			}
		})
	}
}

func TestGitPasses(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"user.name": true, "alias.co": true, "color.ui": true, "core.autocrlf": true,
		"user.signingkey": false, "credential.helper": false, "core.hookspath": false, "core.fsmonitor": false, "core.sshcommand": false, "core.editor": false,
		"include.path": false, "filter.lfs.clean": false, "diff.external": false, "url.x.insteadof": false, "http.extraheader": false, "commit.gpgsign": false, "gpg.program": false,
		"core.pager": false, "core.attributesfile": false, "init.templatedir": false, "safe.directory": false, "merge.x.driver": false, "sequence.editor": false,
	} {
		if gitPasses(name) != want {
			t.Errorf("%s passes: %v", name, !want)
		}
	}
}

func TestGitIncludes(t *testing.T) {
	t.Parallel()
	h := newHost(1000, map[string]string{
		"/home/u/.gitconfig":         "[user]\nname = private\n[includeIf \"gitdir:~/work/\"]\npath = work.inc\n[include]\npath = ~/more\n[includeIf \"onbranch:x\"]\npath = never\n",
		"/home/u/work.inc":           "[user]\nname = job\n",
		"/home/u/more":               "[include]\npath = more\n[alias]\nx = y\n",
		"/home/u/never":              "[user]\nname = never\n",
		"/home/u/.config/git/config": "[user]\nemail = e@x\n",
	})
	for root, want := range map[string]string{"/home/u/work/api": "job", "/home/u/workshop/api": "private", "/srv/x": "private"} {
		v := &viewer{host: h, home: "/home/u"}
		r := &gitReader{v: v, roots: []string{root}}
		r.file("/home/u/.config/git/config", 0)
		r.file("/home/u/.gitconfig", 0)
		last := ""
		for _, s := range r.settings {
			if s.name() == "user.name" {
				last = s.value
			}
		}
		if last != want {
			t.Errorf("%s: user.name %q, want %q", root, last, want)
		}
		if !slices.ContainsFunc(r.settings, func(s gitSetting) bool { return s.name() == "alias.x" }) {
			t.Errorf("%s: the unconditional include is missing", root)
		}
	}
}

// FuzzParseGit: no input panics or loops, and what is rendered parses back.
func FuzzParseGit(f *testing.F) {
	for _, s := range []string{"[user]\nname = x\n", "[a \"b\\\"c\"]\nd=\"e\\n\"\n", "[", "[a]\nb = \"", "[a]\nb\\", "\ufeff[a]b=c", "[a]\nb = c \\\n d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		first := slices.DeleteFunc(parseGit(src), func(s gitSetting) bool {
			return strings.ContainsAny(s.value+s.sub, "\x00") || strings.ContainsRune(s.sub, '\n')
		})
		second := parseGit(renderGit(first))
		if !slices.Equal(first, second) {
			t.Errorf("%q\nparsed   %+v\nrendered %q\nparsed   %+v", src, first, renderGit(first), second)
		}
	})
}

// FuzzParseMountinfo: no input panics.
func FuzzParseMountinfo(f *testing.F) {
	f.Add([]byte(`36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 - ext3 /dev/root rw`))
	f.Fuzz(func(t *testing.T, b []byte) {
		parseMountinfo(b)
		BoundSockets(newHost(0, map[string]string{"/proc/net/unix": string(b)}))
	})
}

func TestUnescape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`/a\040b`: "/a b", `/a\134`: `/a\`, `/x\9`: `/x\9`, `\0401`: " 1", `/\`: `/\`} {
		if got := unescape(in); got != want {
			t.Errorf("unescape(%q) = %q, want %q", in, got, want)
		}
	}
}
