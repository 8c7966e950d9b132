package boundary

import (
	"slices"
	"strconv"
)

// DockerArgv renders the declared form of docker's command line: the spec, in a
// fixed order, and nothing else. name is the container's; "" stands for
// ContainerName. It is a statement, not what is run: docker refuses the bare rw of
// a writable mount. DockerRun renders what is run.
func DockerArgv(s Spec, name string) ([]string, error) {
	if err := s.checkNamed(name); err != nil {
		return nil, err
	}
	argv := []string{"docker", "run", "-d", "--name", or(name, s.ContainerName())}
	if s.ReadOnlyRoot {
		argv = append(argv, "--read-only")
	}
	if s.Network == NetworkNone {
		argv = append(argv, "--network", "none")
	}
	for _, m := range s.Mounts {
		argv = append(argv, "--mount", "type=bind,source="+m.Source+",target="+m.Target+","+string(m.Mode))
	}
	argv = append(argv, "--memory", s.Resources.Memory, "--cpus", s.Resources.CPUs, "--pids-limit", strconv.Itoa(s.Resources.PIDs))
	return s.tail(argv), nil
}

// tail renders what every form ends with.
func (s Spec) tail(argv []string) []string {
	for _, c := range s.CapDrop {
		argv = append(argv, "--cap-drop", c)
	}
	for _, o := range s.SecurityOpt {
		argv = append(argv, "--security-opt", o)
	}
	for _, v := range s.Environment {
		argv = append(argv, "-e", v.Name+"="+v.Value)
	}
	argv = append(argv, s.Image)
	return slices.Concat(argv, s.Command)
}

// checkNamed is Check, and refuses a name that docker would not take.
func (s Spec) checkNamed(name string) error {
	if err := s.Check(); err != nil {
		return err
	}
	var f findings
	if name != "" {
		checkName(&f, name)
	}
	return f.err()
}
