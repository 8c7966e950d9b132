package view

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// closed are the host's folders that never show: kernel interfaces, sockets,
// other people's things and other file systems. They are private or empty inside.
var closed = []string{
	"/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp", "/home", "/root", "/mnt", "/media", "/lost+found",
}

// system makes the host's top-level entries show read-only, except the closed
// ones, and makes the private ones.
func (v *viewer) system() error {
	es, err := v.host.ReadDir("/")
	if err != nil {
		return fault.Wrap(fault.Unavailable, "confine", fmt.Errorf("list the system's folders: %w", err))
	}
	v.absent = slices.Clone(closed)
	for _, e := range es {
		p := "/" + e.Name()
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			to, err := v.host.Readlink(p)
			if err != nil {
				return fault.Wrap(fault.Unavailable, "confine", err)
			}
			v.links = append(v.links, p)
			v.add(Op{Kind: KindLink, Target: p, Text: to})
			if slices.Contains(closed, p) {
				v.absent = append(v.absent, v.real(p)) // /home may be a link to /var/home
			}
		case slices.Contains(closed, p):
		case e.IsDir():
			v.top = append(v.top, p)
			v.add(Op{Kind: KindBind, Source: p, Target: p, ReadOnly: true})
		case e.Type().IsRegular():
			// /.dockerenv says where one is; a swap file that root can read must not show.
			if fi, err := v.host.Stat(p); err == nil && fi.Mode().Perm()&0o004 != 0 {
				v.add(Op{Kind: KindBind, Source: p, Target: p, ReadOnly: true, Optional: true})
			}
		}
	}
	for _, p := range v.absent[len(closed):] {
		if slices.ContainsFunc(v.top, func(t string) bool { return within(p, t) }) {
			v.add(Op{Kind: KindTmpfs, Target: p, Mode: 0o755})
		}
	}
	run := fmt.Sprintf("/run/user/%d", v.host.UID())
	v.add(
		Op{Kind: KindTmpfs, Target: "/tmp", Mode: 0o1777},
		Op{Kind: KindTmpfs, Target: run, Mode: 0o700},
		Op{Kind: KindTmpfs, Target: "/run/lock", Mode: 0o1777},
		Op{Kind: KindDir, Target: "/sys", Mode: 0o555},
	)
	v.writable("/tmp", run, "/run/lock")
	if v.isDir("/var") && v.real("/var") == "/var" && v.isDir("/var/tmp") {
		v.add(Op{Kind: KindTmpfs, Target: "/var/tmp", Mode: 0o1777})
		v.writable("/var/tmp")
	}
	v.resolver()
	return nil
}

// resolver writes the name servers where /etc/resolv.conf is a link into a
// folder that does not show. It matters only with the host's network.
func (v *viewer) resolver() {
	const conf = "/etc/resolv.conf"
	to, err := v.host.Readlink(conf)
	if err != nil || !v.out.HostNet {
		return
	}
	if !path.IsAbs(to) {
		to = path.Join("/etc", to)
	}
	to = path.Clean(to)
	if rest, ok := strings.CutPrefix(to, "/var/run/"); ok {
		to = "/run/" + rest
	}
	if v.shown(to) {
		return
	}
	if b, err := v.host.ReadHead(conf, 64<<10); err == nil {
		v.add(Op{Kind: KindFile, Target: to, Text: string(b), Mode: 0o644, Optional: true})
	}
}

// firstPerson is the lowest uid of a person (UID_MIN of login.defs on every
// distribution in use); nobody is none.
const (
	firstPerson = 1000
	nobody      = 65534
)

// people hides other people's homes that lie outside the closed folders.
func (v *viewer) people() error {
	b, _ := v.host.ReadHead("/etc/passwd", 1<<20) // no accounts, no homes
	var homes []string
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		f := strings.Split(s.Text(), ":")
		if len(f) < 7 {
			continue
		}
		uid, err := strconv.Atoi(f[2])
		if err != nil || uid < firstPerson || uid == nobody || !isCleanAbs(f[5]) {
			continue
		}
		// A home of one component would be a system folder (/var, /opt) by mistake.
		if h := v.real(f[5]); strings.Count(h, "/") > 1 && v.shown(h) && v.isDir(h) && !within(v.home, h) {
			homes = append(homes, h)
		}
	}
	slices.Sort(homes)
	for _, h := range slices.Compact(homes) {
		v.absent = append(v.absent, h)
		v.add(Op{Kind: KindTmpfs, Target: h, Mode: 0o755})
	}
	return nil
}
