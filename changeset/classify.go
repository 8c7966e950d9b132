package changeset

import (
	"path"
	"strings"
)

// Class groups changes for a reviewer.
type Class int

// Classes, in the order in which a reviewer reads them.
const (
	ClassCode Class = iota
	ClassTest
	ClassLock      // lock files: what a package manager wrote
	ClassGenerated // what a program wrote, told by its name
)

// Classify tells what a path is by its name alone.
func Classify(p string) Class {
	lower := strings.ToLower(p)
	base := path.Base(lower)
	switch {
	case isLockfile(p):
		return ClassLock
	case generated(lower, base):
		return ClassGenerated
	case test(lower, base):
		return ClassTest
	}
	return ClassCode
}

func (c Class) String() string {
	return [...]string{"code", "test", "lock file", "generated"}[c]
}

func generated(lower, base string) bool {
	for _, suffix := range generatedSuffixes {
		if strings.HasSuffix(base, suffix) {
			return true
		}
	}
	return strings.HasPrefix(base, "zz_generated") || inFolder(lower, "node_modules", "vendor", "__snapshots__", "__generated__")
}

var generatedSuffixes = []string{
	".pb.go", ".pb.gw.go", "_pb2.py", "_pb2_grpc.py", ".gen.go", "_generated.go", "_gen.go", "_string.go",
	"_templ.go", ".g.dart", ".freezed.dart", ".designer.cs", ".generated.ts", ".min.js", ".min.css",
	".js.map", ".css.map", ".snap",
}

func test(lower, base string) bool {
	if inFolder(lower, "test", "tests", "__tests__", "testdata", "spec", "e2e", "acceptance", "fixtures") {
		return true
	}
	stem, _, _ := strings.Cut(base, ".")
	return strings.HasSuffix(stem, "_test") || strings.HasPrefix(base, "test_") || strings.HasSuffix(stem, "_spec") ||
		strings.Contains(base, ".test.") || strings.Contains(base, ".spec.")
}

// inFolder reports whether a folder on the way to the lower-case path has one of the names.
func inFolder(lower string, names ...string) bool {
	parts := strings.Split(lower, "/")
	for _, part := range parts[:len(parts)-1] {
		for _, n := range names {
			if part == n {
				return true
			}
		}
	}
	return false
}

// isCI reports whether a path configures continuous integration or who must review.
func isCI(p string) bool {
	lower := strings.ToLower(p)
	if ciFiles[path.Base(lower)] {
		return true
	}
	for _, dir := range ciFolders {
		if strings.HasPrefix(lower, dir+"/") || strings.Contains(lower, "/"+dir+"/") {
			return true
		}
	}
	return false
}

var ciFolders = []string{
	".github/workflows", ".github/actions", ".gitlab/ci", ".circleci", ".buildkite", ".forgejo/workflows",
	".gitea/workflows", ".woodpecker", ".teamcity", ".tekton", ".semaphore", ".ci", ".builds",
}

var ciFiles = set(
	".gitlab-ci.yml", ".gitlab-ci.yaml", "azure-pipelines.yml", "azure-pipelines.yaml", "jenkinsfile", ".travis.yml",
	"bitbucket-pipelines.yml", ".drone.yml", ".woodpecker.yml", ".woodpecker.yaml", "appveyor.yml", ".appveyor.yml",
	"cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", ".cirrus.yml", ".build.yml", "codeowners", "dependabot.yml",
	"renovate.json", ".renovaterc", ".goreleaser.yml", ".goreleaser.yaml",
)

// isManifest reports whether a path declares dependencies.
func isManifest(p string) bool {
	base := path.Base(strings.ToLower(p))
	if manifests[base] {
		return true
	}
	if strings.HasPrefix(base, "requirements") && (strings.HasSuffix(base, ".txt") || strings.HasSuffix(base, ".in")) {
		return true
	}
	switch path.Ext(base) {
	case ".gemspec", ".csproj", ".fsproj", ".vbproj", ".podspec", ".cabal", ".nimble", ".rockspec":
		return true
	}
	return false
}

var manifests = set(
	"go.mod", "go.work", "package.json", "pyproject.toml", "pipfile", "setup.py", "setup.cfg", "cargo.toml",
	"gemfile", "composer.json", "pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts",
	"libs.versions.toml", "mix.exs", "pubspec.yaml", "package.swift", "directory.packages.props", "packages.config",
	"flake.nix", "podfile", "conanfile.txt", "conanfile.py", "vcpkg.json", "environment.yml", "deno.json", "module.bazel",
	"build.zig.zon", "rebar.config", "stack.yaml", "project.clj", "deps.edn", "build.sbt", "pnpm-workspace.yaml",
)

// isLockfile reports whether a path is what a package manager wrote down.
func isLockfile(p string) bool { return lockfiles[path.Base(strings.ToLower(p))] }

var lockfiles = set(
	"go.sum", "go.work.sum", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock",
	"bun.lockb", "deno.lock", "poetry.lock", "pipfile.lock", "uv.lock", "pdm.lock", "pylock.toml", "cargo.lock",
	"gemfile.lock", "composer.lock", "gradle.lockfile", "mix.lock", "pubspec.lock", "package.resolved",
	"packages.lock.json", "flake.lock", "podfile.lock", "conan.lock", ".terraform.lock.hcl", "module.bazel.lock",
	"conda-lock.yml", "stack.yaml.lock", "rebar.lock",
)
