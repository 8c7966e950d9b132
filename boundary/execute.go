package boundary

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/ambit-run/ambit/fault"
)

// Labels of a container that ambit made. Only what carries LabelTask is ever removed.
const (
	LabelTask = "ambit.task"
	LabelSpec = "ambit.spec" // the spec's hash
)

// Execution is what running a spec needs besides the spec.
type Execution struct {
	Name string // the container's; "" = ContainerName
	// User is UID:GID, the owner of the working tree as this machine numbers it.
	User string
	// Rootless says that the engine runs without root and numbers users otherwise
	// inside. bubblewrap always does.
	Rootless bool
	// Original is a second place inside for the working tree: the path by which
	// scripts know it. "" = none.
	Original string
	// Volume holds the working tree if it is an overlay; nil = it is a directory.
	// Docker only.
	Volume  *Volume
	Machine Machine // limits are compared with it
}

// Difference is one way in which what is run is not what is declared.
type Difference struct {
	What string `json:"what"` // in the words of the command line, or of the spec
	Why  string `json:"why"`
}

// Rendered is a command line that carries out a spec, with all in which it differs.
type Rendered struct {
	Engine    string       `json:"engine"`
	Container string       `json:"container"` // its name; "" = the engine names nothing
	Argv      []string     `json:"argv"`
	Differs   []Difference `json:"differs"`      // done otherwise than declared
	Missing   []Difference `json:"not_enforced"` // parts of the spec that this command line does not carry
}

func newRendered(engine, name string) *Rendered {
	return &Rendered{Engine: engine, Container: name, Argv: []string{}, Differs: []Difference{}, Missing: []Difference{}}
}

func (x *Rendered) add(argv ...string)      { x.Argv = append(x.Argv, argv...) }
func (x *Rendered) differ(what, why string) { x.Differs = append(x.Differs, Difference{what, why}) }
func (x *Rendered) lack(what, why string)   { x.Missing = append(x.Missing, Difference{what, why}) }

var userForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,9}):(0|[1-9][0-9]{0,9})$`)

// check refuses an execution that cannot be rendered.
func (e Execution) check(s Spec) error {
	if err := s.checkNamed(e.Name); err != nil {
		return err
	}
	var f findings
	if !userForm.MatchString(e.User) {
		f.add("write it like 1000:1000, the owner of the working tree", "not a user and a group by number: %q", e.User)
	}
	if e.Original != "" && checkPath(&f, e.Original) {
		if e.Original == "/" {
			f.add("name a folder below it", "nothing can be mounted over the root of the container")
		}
		for _, m := range s.Mounts {
			if m.Target == e.Original {
				f.add("leave out the second place", "two mounts have the target %s", m.Target)
			}
		}
	}
	if e.Volume != nil {
		e.Volume.check(&f)
	}
	return f.err()
}

// noVolume refuses a working tree that only docker can mount.
func (e Execution) noVolume(engine string) error {
	if e.Volume == nil {
		return nil
	}
	return fault.New(fault.Unsupported, op, "%s cannot mount the overlay %s", engine, e.Volume.Name).
		WithHint("use docker, or a working tree that is a directory")
}

// DockerRun renders the command line with which docker would run the spec. Limits
// that exceed the machine are refused with code Unsupported.
func DockerRun(s Spec, e Execution) (Rendered, error) {
	x, err := s.run("docker", e)
	if err != nil {
		return Rendered{}, err
	}
	return *x, nil
}

// PodmanArgv renders the command line with which podman would run the spec.
func PodmanArgv(s Spec, e Execution) (Rendered, error) {
	if err := e.noVolume("podman"); err != nil {
		return Rendered{}, err
	}
	x, err := s.run("podman", e)
	if err != nil {
		return Rendered{}, err
	}
	if e.Rootless {
		x.lack("memory, cpus and pids", "a rootless podman can set them only where the controllers are delegated to you (cgroup v2)")
	}
	return *x, nil
}

// run renders what docker and podman have in common, which is nearly all.
func (s Spec) run(engine string, e Execution) (*Rendered, error) {
	if err := e.check(s); err != nil {
		return nil, err
	}
	x := newRendered(engine, or(e.Name, s.ContainerName()))
	limits, err := s.Resources.fit(e.Machine, x)
	if err != nil {
		return nil, err
	}
	x.add(engine, "run", "-d", "--name", x.Container, "--label", LabelTask+"="+s.TaskID, "--label", LabelSpec+"="+s.SpecHash)
	x.differ("--label", "so that a teardown removes only containers of ambit's")
	x.runAs(e)
	x.add("--init")
	x.differ("--init", "so that what the command leaves behind is reaped and signals reach it")
	x.root(s, engine)
	x.add("--network", string(s.Network))
	if s.Network == NetworkHost {
		x.differ("--network host", "the declared form names no network but none, and would get the engine's own")
	}
	for _, m := range s.Mounts {
		x.add("--mount", e.mount(s, m.Source, m.Target, m.Mode))
	}
	x.differ("rw", "docker refuses the bare word in a mount, which is writable unless it says ro")
	workdir := WorkspaceTarget
	if e.Original != "" {
		x.add("--mount", e.mount(s, s.Workdir, e.Original, ReadWrite))
		x.differ("a second mount at "+e.Original, "scripts and tools know the working tree by that path; the only writable tree then has two names")
		workdir = e.Original
	}
	if e.Volume != nil {
		x.differ("the working tree is the volume "+e.Volume.Name, "it is an overlay, which the engine mounts itself")
	}
	x.add("--workdir", workdir)
	x.differ("--workdir "+workdir, "commands start in the working tree, not where the image says")
	x.add("--memory", limits.Memory, "--memory-swap", limits.Memory, "--cpus", limits.CPUs, "--pids-limit", strconv.Itoa(limits.PIDs))
	x.differ("--memory-swap "+limits.Memory, "without it a container may swap as much again")
	x.Argv = s.tail(x.Argv)
	return x, nil
}

// runAs says who the container's commands are.
func (x *Rendered) runAs(e Execution) {
	switch {
	case !e.Rootless:
		x.add("--user", e.User)
		x.differ("--user "+e.User, "root without capabilities cannot write a directory of somebody else")
	case x.Engine == "podman":
		x.add("--user", e.User, "--userns", "keep-id")
		x.differ("--user "+e.User+" --userns keep-id", "what is written belongs to you, whose number is the same inside")
	default:
		x.add("--user", "0:0")
		x.differ("--user 0:0", "a rootless docker numbers you as root inside; what is written belongs to you")
	}
}

// root says what may be written outside the mounts.
func (x *Rendered) root(s Spec, engine string) {
	if !s.ReadOnlyRoot {
		return
	}
	x.add("--read-only")
	if engine == "podman" {
		x.add("--read-only-tmpfs=false")
		x.differ("--read-only-tmpfs=false", "podman would make /run and /var/tmp writable, too")
	}
	const tmp = "/tmp"
	if slices.ContainsFunc(s.Mounts, func(m Mount) bool { return m.Target == tmp }) {
		return
	}
	x.add("--tmpfs", tmp+":rw,exec,nosuid,nodev,mode=1777")
	x.differ("--tmpfs "+tmp, "hardly a tool works without; it is memory, counts as such, and ends with the container")
}

// mount renders one mount option.
func (e Execution) mount(s Spec, source, target string, mode Mode) string {
	option := "type=bind,source=" + source + ",target=" + target
	if e.Volume != nil && source == s.Workdir {
		option = "type=volume,source=" + e.Volume.Name + ",target=" + target + ",volume-nocopy"
	}
	if mode == ReadOnly {
		option += ",ro"
	}
	return option
}
