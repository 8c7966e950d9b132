package boundary

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Check returns what is wrong with a spec, with code Invalid; nil means that it can
// be rendered. New and Parse have checked what they return.
func (s Spec) Check() error {
	var f findings
	s.check(&f)
	if len(f.list) == 0 {
		s.checkHash(&f)
	}
	return f.err()
}

func (s Spec) checkHash(f *findings) {
	hash, err := s.Hash()
	if err != nil {
		f.add("", "the spec has no hash: %v", err)
	} else if s.SpecHash != hash {
		f.add("it was changed after it was made; make it anew with ambit boundary spec", "spec_hash is %s, and the spec's hash is %s", s.SpecHash, hash)
	}
}

// check looks at everything but the hash.
func (s Spec) check(f *findings) {
	if s.TaskID == "" {
		f.add("name the task the boundary is for", "the task has no id")
	} else if f.text("the task's id", s.TaskID, maxArg/2) && strings.ContainsFunc(s.TaskID, unicode.IsControl) {
		f.add("write it on one line", "the task's id holds a control character: %q", s.TaskID)
	}
	checkImage(f, s.Image)
	s.checkMounts(f)
	if s.Network != NetworkNone && s.Network != NetworkHost {
		f.add("use none or host", "network is not known: %s", s.Network)
	}
	s.Resources.check(f)
	s.Environment.check(f, s.TaskID)
	s.checkPrivilege(f)
	if len(s.Command) == 0 || s.Command[0] == "" {
		f.add("name a program, such as sleep infinity", "the container has no command")
	}
	for _, a := range s.Command {
		f.text("an argument of the command", a, maxArg)
	}
	if s.Provenance != Provenance {
		f.add("a declared spec says: "+Provenance, "provenance is not that of a declared spec: %s", s.Provenance)
	}
}

var capability = regexp.MustCompile(`^[A-Z][A-Z0-9_]{1,40}$`)

// checkPrivilege refuses words that are no capability, and security options that
// take a protection away.
func (s Spec) checkPrivilege(f *findings) {
	for i, c := range s.CapDrop {
		switch {
		case !capability.MatchString(c):
			f.add("write it like ALL or NET_RAW", "no such capability: %q", c)
		case slices.Contains(s.CapDrop[:i], c):
			f.add("say it once", "capability is dropped twice: %s", c)
		}
	}
	for _, o := range s.SecurityOpt {
		if !f.text("a security option", o, maxArg) {
			continue
		}
		at := strings.IndexAny(o, ":=")
		value := strings.ToLower(o[at+1:])
		switch {
		case o == "" || strings.ContainsFunc(o, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
			f.add("write it like no-new-privileges:true", "invalid security option: %q", o)
		case value == "unconfined", value == "disable", value == "false", value == "0", value == "f":
			f.add("leave it out; a boundary only adds protections", "security option takes a protection away: %s", o)
		}
	}
}

// An image's name as docker's registries spell it: host and port, path, tag, digest.
// It can therefore not begin like an option.
var image = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*(?::[0-9]{1,5})?/)?` +
	`[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*` +
	`(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[+._-][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,128})?$`)

// maxImage bounds an image's name: 255 bytes of name, a tag and a digest.
const maxImage = 255 + 1 + 128 + 200

func checkImage(f *findings, name string) {
	if len(name) > maxImage || !image.MatchString(name) {
		f.add("write it like "+DefaultImage+" or registry.example.org/team/tool:1.2", "not the name of an image: %q", name)
	}
}
