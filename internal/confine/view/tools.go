package view

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// toolchain is a place where a version manager or installer keeps programs:
// below home, or where its own variable says.
type toolchain struct {
	rel string
	env string // absolute when set
}

// chains are the tool chains that show read-only over the private home. None of
// them holds credentials by convention; those that would (~/.cargo, ~/.m2) show
// in parts.
var chains = []toolchain{
	{".nvm", "NVM_DIR"},
	{".fnm", "FNM_DIR"},
	{".local/share/fnm", ""},
	{".volta", "VOLTA_HOME"},
	{"n", "N_PREFIX"},
	{".nodenv", "NODENV_ROOT"},
	{".npm-global", ""},
	{".npm-packages", ""},
	{".bun/bin", ""},
	{".deno/bin", ""},
	{".local/share/pnpm", "PNPM_HOME"},
	{".yarn/bin", ""},
	{".config/yarn/global/node_modules", ""},
	{".pyenv", "PYENV_ROOT"},
	{".local/pipx/venvs", ""},
	{".local/share/pipx/venvs", ""},
	{".local/share/pypoetry/venv", ""},
	{".poetry/bin", ""},
	{".local/share/uv", "UV_PYTHON_INSTALL_DIR"},
	{".local/lib", ""},
	{"miniconda3", ""},
	{"miniforge3", ""},
	{"anaconda3", ""},
	{".rye", "RYE_HOME"},
	{".rustup", "RUSTUP_HOME"},
	{".cargo/bin", ""},
	{".cargo/env", ""},
	{"sdk", ""},
	{"go/bin", ""},
	{".go", ""},
	{".goenv", "GOENV_ROOT"},
	{".gvm", ""},
	{".local/go", ""},
	{".local/share/go", ""},
	{".sdkman", "SDKMAN_DIR"},
	{".jenv", ""},
	{".jbang/bin", ""},
	{".local/share/coursier/bin", ""},
	{".asdf", "ASDF_DATA_DIR"},
	{".local/share/mise", "MISE_DATA_DIR"},
	{".local/share/rtx", ""},
	{".proto", "PROTO_HOME"},
	{".rbenv", "RBENV_ROOT"},
	{".rvm", ""},
	{".gem/ruby", ""},
	{".dotnet", "DOTNET_ROOT"},
	{".ghcup", ""},
	{".opam", "OPAMROOT"},
	{".elan", ""},
	{".juliaup", ""},
	{".nix-profile", ""},
	{".local/state/nix", ""},
	{".linuxbrew", ""},
	{".local/opt", ""},
	{".krew/bin", ""},
	{".local/share/virtualenv", ""},
}

// elsewhere are tool chains with a fixed place in a folder that does not show.
var elsewhere = []string{"/home/linuxbrew/.linuxbrew", "/run/current-system/sw"}

// toolchains exposes the known tool chains that exist.
func (v *viewer) toolchains() {
	for _, c := range chains {
		if p := path.Join(v.home, c.rel); v.exists(p) {
			v.expose(p)
		}
		if c.env == "" {
			continue
		}
		if p := v.host.Getenv(c.env); isCleanAbs(p) && v.exists(p) {
			v.expose(p)
		}
	}
	for _, p := range elsewhere {
		if v.exists(p) {
			v.expose(p)
		}
	}
}

// drvfs reports whether a folder lies on a drive of Windows under WSL: nothing
// there runs on Linux's terms.
func drvfs(dir string) bool {
	rest, ok := strings.CutPrefix(dir, "/mnt/")
	return ok && rest != "" && rest[0] >= 'a' && rest[0] <= 'z' && (len(rest) == 1 || rest[1] == '/')
}

// maxScripts bounds how many files of one PATH folder are looked into for the
// interpreter they name.
const maxScripts = 400

// commands exposes what the person's PATH names and does not show by itself: the
// folders, where their links lead, and the interpreters of their scripts.
func (v *viewer) commands() {
	seen := map[string]bool{}
	for d := range strings.SplitSeq(v.spec.Path, ":") {
		if !path.IsAbs(d) || drvfs(d) {
			continue
		}
		d = path.Clean(d)
		real, err := v.resolve(d)
		if err != nil || v.hiddenHome(real) || !v.isDir(real) {
			continue
		}
		chain := v.inExposed(real)
		if !v.shown(real) || !v.shown(d) {
			v.expose(d)
			v.venv(path.Dir(d))
		}
		// The distribution's own folders hold thousands of programs; what leads away
		// from there does so by way of /etc/alternatives.
		if slices.Contains(distribution, real) {
			real = alternatives
		}
		if !seen[real] {
			seen[real] = true
			// What a known tool chain keeps needs nothing outside it but links.
			v.needs(real, !chain && !v.shown(real))
		}
	}
}

const alternatives = "/etc/alternatives"

var distribution = []string{"/usr/bin", "/usr/sbin", "/bin", "/sbin"}

// inExposed reports whether a path shows because a tool chain around it does.
func (v *viewer) inExposed(p string) bool {
	for e := range v.exposed {
		if within(p, e) {
			return true
		}
	}
	return false
}

// hiddenHome reports whether p lies in a home that the person wants hidden.
func (v *viewer) hiddenHome(p string) bool { return v.spec.Home == "hidden" && within(p, v.home) }

// venv exposes a Python virtual environment and the interpreter it stands on.
func (v *viewer) venv(root string) {
	cfg := path.Join(root, "pyvenv.cfg")
	b, err := v.host.ReadHead(cfg, 4096)
	if err != nil {
		return
	}
	v.expose(root)
	for line := range strings.SplitSeq(string(b), "\n") {
		if k, val, ok := strings.Cut(line, "="); ok && strings.TrimSpace(k) == "home" {
			if bin := strings.TrimSpace(val); isCleanAbs(bin) {
				if real, err := v.resolve(bin); err == nil && !v.shown(real) {
					v.expose(path.Dir(real))
				}
			}
		}
	}
}

// needs exposes what the links and, if asked for, the scripts of a folder need.
func (v *viewer) needs(real string, scriptsToo bool) {
	es, err := v.host.ReadDir(real)
	if err != nil {
		return
	}
	scripts := 0
	for _, e := range es {
		p := path.Join(real, e.Name())
		if e.Type()&fs.ModeSymlink != 0 {
			if !v.leadsAway(p) {
				continue
			}
			if to, err := v.resolve(p); err == nil && !v.shown(to) && !v.hiddenHome(to) {
				v.exposeTarget(to)
			}
			continue
		}
		if !scriptsToo || !e.Type().IsRegular() || scripts >= maxScripts {
			continue
		}
		scripts++
		v.interpreter(p)
	}
}

// maxHops is the kernel's limit on links in a path.
const maxHops = 40

// leadsAway follows a link's own text, hop by hop, and reports whether it comes
// to a place that does not show. A system folder holds hundreds of links and
// hardly one that does, so this looks at no other component.
func (v *viewer) leadsAway(p string) bool {
	for range maxHops {
		text, err := v.host.Readlink(p)
		if err != nil {
			return false
		}
		if !path.IsAbs(text) {
			text = path.Join(path.Dir(p), text)
		}
		if p = path.Clean(text); !v.shown(p) {
			return true
		}
	}
	return false
}

// interpreter exposes the program a script's first line names.
func (v *viewer) interpreter(p string) {
	b, err := v.host.ReadHead(p, 256)
	if err != nil || len(b) < 3 || b[0] != '#' || b[1] != '!' {
		return
	}
	line, _, _ := strings.Cut(string(b[2:]), "\n")
	f := strings.Fields(line)
	if len(f) == 0 || !isCleanAbs(f[0]) {
		return
	}
	to, err := v.resolve(f[0])
	if err != nil || v.hiddenHome(f[0]) || v.hiddenHome(to) {
		return
	}
	v.venv(path.Dir(path.Dir(f[0])))
	v.expose(f[0])
	if !v.shown(to) {
		v.exposeTarget(to)
	}
}

// exposeTarget exposes what a link on PATH leads to: the file, and more only
// where the layout says that the file is part of a package.
func (v *viewer) exposeTarget(to string) {
	v.expose(to)
	if i := strings.Index(to, "/node_modules/"); i >= 0 {
		v.expose(to[:i+len("/node_modules")])
		return
	}
	dir := path.Dir(to)
	if path.Base(dir) != "bin" {
		return
	}
	prefix := path.Dir(dir)
	if v.exists(path.Join(prefix, "pyvenv.cfg")) {
		v.venv(prefix)
		return
	}
	// ~/.local/bin has a ~/.local/lib, but ~/.local is no package.
	if path.Base(prefix) == ".local" {
		return
	}
	v.expose(dir)
	for _, part := range []string{"lib", "lib64", "libexec", "share"} {
		if p := path.Join(prefix, part); v.isDir(p) {
			v.expose(p)
		}
	}
}
