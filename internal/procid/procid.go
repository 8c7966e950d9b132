package procid

// ID names one process of one boot. IDs are comparable with ==.
type ID struct {
	PID   int    `json:"pid"`
	Start string `json:"start"`   // field 22 of /proc/PID/stat: clock ticks between boot and start, decimal
	Boot  string `json:"boot_id"` // /proc/sys/kernel/random/boot_id
	NS    string `json:"pid_ns"`  // the pid namespace that PID belongs to, as readlink /proc/self/ns/pid prints it
}
