package tree

import (
	"maps"

	"github.com/ambit-run/ambit/changeset"
)

// rules say how what the plan did is held against what lies there now.
type rules struct {
	// merge allows one side's change of contents, mode or an attribute to stand
	// beside the other side's change of something else, and text to be merged.
	merge bool
	// git compares modes as git does, by the executable bit alone: the plan may
	// have worked on a checkout of its own, made with another umask.
	git bool
}

// verdict is what becomes of a path.
type verdict struct {
	result   *changeset.Entry // what must lie there in the end; nil = nothing
	source   contents         // where a file's contents come from
	conflict string           // why not; empty = decided
}

// contents says where the contents of a resulting file come from.
type contents int

const (
	fromPlan    contents = iota // the plan's side
	fromPresent                 // what lies there now: only mode or attributes change
	fromMerge                   // to be merged, result's size and hash still unknown
)

func conflict(why string) verdict { return verdict{conflict: why} }

// decide holds the three states of one path against each other.
func decide(before, after, now *changeset.Entry, r rules) verdict {
	switch {
	case after == nil && now == nil:
		return verdict{} // gone already
	case after == nil:
		if same(before, now, r) {
			return verdict{}
		}
		return conflict("the plan deletes it, outside it changed")
	case now == nil && before == nil:
		return verdict{result: after}
	case now == nil:
		return conflict("the plan changed it, outside it was deleted")
	case same(after, now, rules{}):
		return verdict{result: now, source: fromPresent}
	case before == nil:
		if r.merge && after.Kind == changeset.Dir && now.Kind == changeset.Dir || r.git && same(after, now, r) {
			return verdict{result: now, source: fromPresent}
		}
		return conflict("the plan creates it, outside it was created otherwise")
	case equal(before, now):
		return verdict{result: after}
	case !r.merge && !r.git:
		return conflict("it changed on both sides")
	}
	return threeWay(before, after, now, r)
}

// same reports whether two sides are equal by the rules.
func same(a, b *changeset.Entry, r rules) bool {
	if !r.git {
		return equal(a, b)
	}
	return a != nil && b != nil && sameContents(a, b) && (a.Kind != changeset.File || executable(a) == executable(b))
}

// equal is Entry.Same, with an attribute map that may be nil or empty, and with
// empty hashes (contents nobody could read) equal to nothing.
func equal(a, b *changeset.Entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind == changeset.File && (a.Hash == "" || b.Hash == "") {
		return false
	}
	return a.Same(b)
}

// sameContents compares what an object holds, leaving mode and attributes out.
func sameContents(a, b *changeset.Entry) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case changeset.File:
		return a.Hash != "" && a.Hash == b.Hash && a.Size == b.Size
	case changeset.Symlink:
		return a.Link == b.Link
	case changeset.Dir:
	}
	return true
}

func executable(e *changeset.Entry) bool { return e.Mode&0o100 != 0 }

// threeWay joins two changes of one path, part by part.
func threeWay(before, after, now *changeset.Entry, r rules) verdict {
	out := *after
	source := fromPlan
	switch {
	case sameContents(before, now):
	case sameContents(before, after), sameContents(now, after):
		out, source = *now, fromPresent
	case r.merge && before.Kind == changeset.File && after.Kind == changeset.File && now.Kind == changeset.File && before.Hash != "":
		source = fromMerge
	default:
		return conflict("its contents changed on both sides")
	}
	if before.Kind != after.Kind { // a new object: nothing of the old one's to keep
		if source != fromPlan || !same(before, now, r) {
			return conflict("the plan made another kind of it, outside it changed")
		}
		return verdict{result: &out}
	}
	if out.Kind != changeset.Symlink {
		mode, ok := mergeModes(before.Mode, after.Mode, now.Mode, r.git && out.Kind == changeset.File, r.git)
		if !ok {
			return conflict("its mode changed on both sides")
		}
		out.Mode = mode
	}
	attrs, ok := mergeXattrs(before.Xattrs, after.Xattrs, now.Xattrs, r.git)
	if !ok {
		return conflict("its attributes changed on both sides")
	}
	out.Xattrs = attrs
	return verdict{result: &out, source: source}
}

// mergeModes joins two changes of a mode. bit: by the executable bit alone;
// loose: a difference between the outside and the base is no change.
func mergeModes(before, after, now uint32, bit, loose bool) (uint32, bool) {
	switch {
	case before == after, now == after:
		return now, true
	case before == now:
		return after, true
	case bit && before&0o100 == after&0o100:
		return now, true // only bits changed that git does not know
	case bit && after&0o100 != 0:
		return now | now&0o444>>2, true
	case bit:
		return now &^ 0o111, true
	case loose:
		return now, true
	}
	return 0, false
}

// mergeXattrs joins two changes of attributes, name by name. loose: the base
// (a checkout of its own) never had the outside's attributes.
func mergeXattrs(before, after, now map[string]string, loose bool) (map[string]string, bool) {
	if loose && len(before) == 0 && len(after) == 0 {
		return now, true
	}
	out := maps.Clone(now)
	names := map[string]bool{}
	for _, m := range []map[string]string{before, after, now} {
		for k := range m {
			names[k] = true
		}
	}
	for k := range names {
		b, inB := before[k]
		a, inA := after[k]
		n, inN := now[k]
		switch {
		case inB == inA && b == a, inN == inA && n == a: // the plan left it alone, or did the same
		case inB == inN && b == n, loose && !inB:
			if out == nil {
				out = map[string]string{}
			}
			if delete(out, k); inA {
				out[k] = a
			}
		default:
			return nil, false
		}
	}
	return out, true
}
