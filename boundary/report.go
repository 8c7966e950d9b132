package boundary

// ReportNote is what a report says of itself.
const ReportNote = "Scope enforcement is a container boundary, not an application check."

// Explanation is a boundary in plain terms.
type Explanation struct {
	WritablePaths       []string `json:"writable_paths"`  // inside
	ReadOnlyPaths       []string `json:"read_only_paths"` // inside
	Network             Network  `json:"network"`
	RootFilesystem      string   `json:"root_filesystem"` // "read-only" or "writable"
	CapabilitiesDropped []string `json:"capabilities_dropped"`
	Note                string   `json:"note"`
}

// Report explains what a spec declares. That it holds is not said: a spec is no proof.
func Report(s Spec) Explanation {
	x := Explanation{
		WritablePaths: []string{}, ReadOnlyPaths: []string{}, Network: s.Network, RootFilesystem: "writable",
		CapabilitiesDropped: append([]string{}, s.CapDrop...), Note: ReportNote,
	}
	if s.ReadOnlyRoot {
		x.RootFilesystem = "read-only"
	}
	for _, m := range s.Mounts {
		switch m.Mode {
		case ReadWrite:
			x.WritablePaths = append(x.WritablePaths, m.Target)
		case ReadOnly:
			x.ReadOnlyPaths = append(x.ReadOnlyPaths, m.Target)
		}
	}
	return x
}
