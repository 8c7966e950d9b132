package boundary

import "github.com/ambit-run/ambit/internal/canonjson"

// Hash returns the first 16 hex digits of the SHA-256 over the spec's canonical
// JSON without its spec_hash. It fails where a text is not UTF-8.
func (s Spec) Hash() (string, error) {
	mounts := make([]any, 0, len(s.Mounts))
	for _, m := range s.Mounts {
		mounts = append(mounts, canonjson.Object{
			{Key: "source", Value: m.Source},
			{Key: "target", Value: m.Target},
			{Key: "mode", Value: string(m.Mode)},
			{Key: "purpose", Value: m.Purpose},
		})
	}
	environment := make(canonjson.Object, 0, len(s.Environment))
	for _, v := range s.Environment {
		environment = append(environment, canonjson.Member{Key: v.Name, Value: v.Value})
	}
	form, err := canonjson.Marshal(canonjson.Object{
		{Key: "task_id", Value: s.TaskID},
		{Key: "image", Value: s.Image},
		{Key: "workdir", Value: s.Workdir},
		{Key: "mounts", Value: mounts},
		{Key: "read_only_root", Value: s.ReadOnlyRoot},
		{Key: "network", Value: string(s.Network)},
		{Key: "resources", Value: canonjson.Object{
			{Key: "memory", Value: s.Resources.Memory}, {Key: "cpus", Value: s.Resources.CPUs}, {Key: "pids", Value: s.Resources.PIDs},
		}},
		{Key: "environment", Value: environment},
		{Key: "cap_drop", Value: s.CapDrop},
		{Key: "security_opt", Value: s.SecurityOpt},
		{Key: "command", Value: s.Command},
		{Key: "created", Value: false},
		{Key: "provenance", Value: s.Provenance},
	})
	if err != nil {
		return "", err
	}
	return canonjson.Short(form), nil
}
