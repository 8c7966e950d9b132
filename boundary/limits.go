package boundary

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/ambit-run/ambit/fault"
)

// Machine is what is known of the machine that would run a container; 0 = unknown.
type Machine struct {
	Memory int64 // bytes
	CPUs   int
	PIDs   int // the largest process id
}

var (
	memoryForm = regexp.MustCompile(`^([0-9]{1,15}(?:\.[0-9]{1,9})?)([bkmgtBKMGT]?)$`)
	cpusForm   = regexp.MustCompile(`^[0-9]{1,6}(?:\.[0-9]{1,9})?$`)
)

// Least values that docker takes: 6 MiB, and a hundredth of a processor.
const (
	minMemory = 6 << 20
	minCPUs   = 0.01
)

func (r Resources) check(f *findings) {
	if n, ok := memoryBytes(r.Memory); !ok || n < minMemory {
		f.add("write a number with b, k, m, g or t, 6m or more, such as 512m or "+DefaultMemory, "memory does not parse: %q", r.Memory)
	}
	if n, ok := cpuCount(r.CPUs); !ok || n < minCPUs {
		f.add("write a decimal number, 0.01 or more, such as 1.5", "cpus does not parse: %q", r.CPUs)
	}
	if r.PIDs < 1 || r.PIDs > math.MaxInt32 {
		f.add("write a whole number, 1 or more, such as 512", "pids is no number of processes: %d", r.PIDs)
	}
}

// memoryBytes reads docker's notation, in which units are powers of 1024.
func memoryBytes(s string) (int64, bool) {
	m := memoryForm.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if m[2] != "" {
		n *= math.Pow(1024, float64(strings.Index("bkmgt", strings.ToLower(m[2]))))
	}
	if err != nil || n >= math.MaxInt64 {
		return 0, false
	}
	return int64(n), true
}

func cpuCount(s string) (float64, bool) {
	if !cpusForm.MatchString(s) {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil
}

// fit compares limits with the machine. What was asked for and exceeds it is
// refused with code Unsupported; a default is lowered, which is listed.
func (r Resources) fit(m Machine, x *Rendered) (Resources, error) {
	memory, _ := memoryBytes(r.Memory)
	cpus, _ := cpuCount(r.CPUs)
	for _, l := range []struct {
		name, have, most string
		over, isDefault  bool
		lower            func(most string)
	}{
		{
			"memory", r.Memory, strconv.FormatInt(m.Memory, 10) + "b", m.Memory > 0 && memory > m.Memory,
			r.Memory == DefaultMemory, func(most string) { r.Memory = most },
		},
		{
			"cpus", r.CPUs, strconv.Itoa(m.CPUs), m.CPUs > 0 && cpus > float64(m.CPUs),
			r.CPUs == DefaultCPUs, func(most string) { r.CPUs = most },
		},
		{
			"pids", strconv.Itoa(r.PIDs), strconv.Itoa(m.PIDs), m.PIDs > 0 && r.PIDs > m.PIDs,
			r.PIDs == DefaultPIDs, func(string) { r.PIDs = m.PIDs },
		},
	} {
		switch {
		case !l.over:
		case !l.isDefault:
			return r, fault.New(fault.Unsupported, op, "%s %s exceeds this machine, which has %s", l.name, l.have, l.most).
				WithHint("ask for %s or less", l.most)
		default:
			l.lower(l.most)
			x.differ(l.name+" "+l.most, "this machine has no more; the default is "+l.have)
		}
	}
	return r, nil
}
