package boundary

import (
	"regexp"
	"strings"

	"github.com/ambit-run/ambit/internal/canonjson"
)

// containerName is what docker and podman take for a name.
var containerName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]+$`)

// maxName bounds a container's name, in bytes: longer ones fill screens.
const maxName = 128

// ContainerName returns the name of the task's container: the prefix and the id of
// the task, in lower case. Where docker would refuse that, what it refuses becomes
// a hyphen, and a hash of the id follows, so that two tasks do not come to share a
// name; ids that differ in case alone do, and the engine refuses the second.
func (s Spec) ContainerName() string {
	name := strings.ToLower(s.EnvPrefix()) + "-" + asciiLower(s.TaskID)
	if containerName.MatchString(name) && len(name) <= maxName {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		if r < 0x80 && (r == '_' || r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z') {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	hash := "-" + canonjson.Short([]byte(s.TaskID))
	return b.String()[:min(b.Len(), maxName-len(hash))] + hash
}

// asciiLower is lower case without letters that become ASCII on the way, such as
// the Kelvin sign.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// checkName refuses a name that somebody chose and docker would not take.
func checkName(f *findings, name string) {
	if !containerName.MatchString(name) || len(name) > maxName {
		f.add("use letters, digits, _ . and -, a letter or digit first, two characters or more", "not a container's name: %q", name)
	}
}
