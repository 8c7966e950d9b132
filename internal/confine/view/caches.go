package view

import "path"

// cache is a tool's store of things fetched or built, warm from the person's own
// work: it shows copy-on-write, so commands find it full and cannot poison it.
type cache struct {
	key string // names its layer in the plan's folder
	rel string // below home
	env string // where the tool's own variable puts it
	sub string // below what env names
}

var cacheList = []cache{
	{key: "go-build", rel: ".cache/go-build", env: "GOCACHE"},
	{key: "go-mod", rel: "go/pkg/mod", env: "GOMODCACHE"},
	{key: "npm", rel: ".npm", env: "npm_config_cache"},
	{key: "yarn", rel: ".cache/yarn", env: "YARN_CACHE_FOLDER"},
	{key: "yarn-berry", rel: ".yarn/berry/cache"},
	{key: "pnpm", rel: ".local/share/pnpm/store"},
	{key: "bun", rel: ".bun/install/cache", env: "BUN_INSTALL_CACHE_DIR"},
	{key: "deno", rel: ".cache/deno", env: "DENO_DIR"},
	{key: "node-gyp", rel: ".cache/node-gyp"},
	{key: "pip", rel: ".cache/pip", env: "PIP_CACHE_DIR"},
	{key: "uv", rel: ".cache/uv", env: "UV_CACHE_DIR"},
	{key: "poetry", rel: ".cache/pypoetry/cache"},
	{key: "pre-commit", rel: ".cache/pre-commit", env: "PRE_COMMIT_HOME"},
	{key: "cargo-registry", rel: ".cargo/registry", env: "CARGO_HOME", sub: "registry"},
	{key: "cargo-git", rel: ".cargo/git", env: "CARGO_HOME", sub: "git"},
	{key: "ccache", rel: ".cache/ccache", env: "CCACHE_DIR"},
	{key: "sccache", rel: ".cache/sccache", env: "SCCACHE_DIR"},
	{key: "maven", rel: ".m2/repository"},
	{key: "gradle", rel: ".gradle/caches", env: "GRADLE_USER_HOME", sub: "caches"},
	{key: "gradle-wrapper", rel: ".gradle/wrapper", env: "GRADLE_USER_HOME", sub: "wrapper"},
	{key: "coursier", rel: ".cache/coursier", env: "COURSIER_CACHE"},
	{key: "ivy", rel: ".ivy2/cache"},
	{key: "nuget", rel: ".nuget/packages", env: "NUGET_PACKAGES"},
	{key: "composer", rel: ".cache/composer", env: "COMPOSER_CACHE_DIR"},
	{key: "bundle", rel: ".bundle/cache"},
	{key: "golangci", rel: ".cache/golangci-lint", env: "GOLANGCI_LINT_CACHE"},
	{key: "playwright", rel: ".cache/ms-playwright", env: "PLAYWRIGHT_BROWSERS_PATH"},
	{key: "zig", rel: ".cache/zig", env: "ZIG_GLOBAL_CACHE_DIR"},
}

// caches shows the caches that exist. One that cannot be overlaid (another file
// system's limits) is cold inside, which costs time and breaks nothing.
func (v *viewer) caches() {
	for _, c := range cacheList {
		at := path.Join(v.home, c.rel)
		real := at
		if p := v.host.Getenv(c.env); c.env != "" && isCleanAbs(p) {
			real = path.Join(p, c.sub)
		} else if c.key == "go-mod" {
			if p := v.host.Getenv("GOPATH"); isCleanAbs(p) {
				real = path.Join(p, "pkg/mod")
			}
		}
		real = v.real(real)
		if !v.isDir(real) || v.broad(real) {
			continue
		}
		layer := path.Join(v.spec.PlanDir, "caches", c.key)
		upper, work := path.Join(layer, "upper"), path.Join(layer, "work")
		v.out.MakeDirs = append(v.out.MakeDirs, upper, work)
		// Where the person's variable puts it, which passes to commands, and where
		// a command looks without the variable.
		v.add(Op{Kind: KindOverlay, Target: real, Lower: []string{real}, Upper: upper, Work: work, Optional: true, Private: v.private(real)})
		v.writable(real)
		v.out.Shown = append(v.out.Shown, real)
		if real != at && (v.own || v.isDir(at)) {
			v.add(Op{Kind: KindAlias, Source: real, Target: at, Optional: true, Private: v.private(at)})
			v.writable(at)
		}
	}
}
