package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Version is the released version; set by the linker, "" in other builds.
var Version string

func newVersionCmd(d *deps) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return runVersion(d) },
	}
}

// versionObject is the JSON of version.
type versionObject struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func build() versionObject {
	v := versionObject{Version: Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if v.Version == "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func runVersion(d *deps) error {
	v := build()
	if v.Version == "" || v.Version == "(devel)" {
		v.Version = "devel"
	}
	if d.json {
		return d.emit(v, exitDone)
	}
	line := "ambit " + v.Version
	if len(v.Commit) >= 12 {
		line += " (" + v.Commit[:12]
		if v.Modified {
			line += ", modified"
		}
		line += ")"
	}
	_, err := fmt.Fprintf(d.stdout, "%s %s %s\n", line, v.Go, v.Platform)
	return err
}
