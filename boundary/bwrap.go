package boundary

import "slices"

// bwrapShown are places of the machine that programs need and that hold nothing of
// anybody's: they stand in for the image.
var bwrapShown = []string{
	"/etc/alternatives", "/etc/ca-certificates", "/etc/group", "/etc/ld.so.cache", "/etc/localtime", "/etc/nsswitch.conf",
	"/etc/passwd", "/etc/ssl",
}

// bwrapLinks are what a merged /usr has beside it.
var bwrapLinks = [][2]string{{"usr/bin", "/bin"}, {"usr/sbin", "/sbin"}, {"usr/lib", "/lib"}, {"usr/lib64", "/lib64"}}

// BwrapArgv renders the command line with which bubblewrap would run the spec's
// command, in the foreground and on the system of the machine. It has no images, no
// limits and no names; what that leaves out is listed.
func BwrapArgv(s Spec, e Execution) (Rendered, error) {
	if err := e.noVolume("bubblewrap"); err != nil {
		return Rendered{}, err
	}
	if err := e.check(s); err != nil {
		return Rendered{}, err
	}
	x := newRendered("bwrap", "")
	x.add("bwrap", "--unshare-all", "--die-with-parent", "--new-session")
	if s.Network == NetworkHost {
		x.add("--share-net")
	}
	x.differ("runs in the foreground and ends with whoever started it", "bubblewrap keeps nothing behind that could be found later")
	x.add("--ro-bind", "/usr", "/usr")
	for _, l := range bwrapLinks {
		x.add("--symlink", l[0], l[1])
	}
	for _, p := range bwrapShown {
		x.add("--ro-bind-try", p, p)
	}
	x.add("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")
	x.differ("a private /tmp, /proc and /dev", "hardly a tool works without")
	for _, m := range s.Mounts {
		x.bind(m.Mode, m.Source, m.Target)
	}
	workdir := WorkspaceTarget
	if e.Original != "" {
		x.bind(ReadWrite, s.Workdir, e.Original)
		x.differ("a second mount at "+e.Original, "scripts and tools know the working tree by that path; the only writable tree then has two names")
		workdir = e.Original
	}
	if s.ReadOnlyRoot {
		x.add("--remount-ro", "/")
	}
	x.add("--chdir", workdir)
	x.differ("--chdir "+workdir, "commands start in the working tree")
	for _, c := range s.CapDrop {
		x.add("--cap-drop", bwrapCapability(c))
	}
	x.environment(s)
	x.add("--")
	x.add(s.Command...)
	x.lacking(s)
	return *x, nil
}

func (x *Rendered) bind(m Mode, source, target string) {
	option := "--bind"
	if m == ReadOnly {
		option = "--ro-bind"
	}
	x.add(option, source, target)
}

// bwrapCapability spells a capability in full, as bubblewrap wants it.
func bwrapCapability(c string) string {
	if c == "ALL" || len(c) > 4 && c[:4] == "CAP_" {
		return c
	}
	return "CAP_" + c
}

func (x *Rendered) environment(s Spec) {
	x.add("--clearenv")
	if _, set := s.Environment.Get("PATH"); !set {
		const path = "/usr/local/bin:/usr/bin:/bin"
		x.add("--setenv", "PATH", path)
		x.differ("PATH "+path, "an image would say where its programs lie")
	}
	for _, v := range s.Environment {
		x.add("--setenv", v.Name, v.Value)
	}
}

// lacking lists what of the spec bubblewrap cannot carry.
func (x *Rendered) lacking(s Spec) {
	x.lack("image "+s.Image, "bubblewrap has no images; the command runs on this machine's /usr")
	x.lack("memory "+s.Resources.Memory, "bubblewrap sets no limits")
	x.lack("cpus "+s.Resources.CPUs, "bubblewrap sets no limits")
	x.lack("pids", "bubblewrap sets no limits")
	for _, o := range s.SecurityOpt {
		if !slices.Contains([]string{"no-new-privileges", "no-new-privileges:true", "no-new-privileges=true"}, o) {
			x.lack("security_opt "+o, "bubblewrap knows no such option; no-new-privileges it always sets")
		}
	}
}
