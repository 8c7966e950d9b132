package changeset

import (
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// splitLines cuts text behind every newline; the last line may lack one. Only
// LF ends a line, so CRLF stays part of it, byte for byte.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := make([]string, 0, strings.Count(text, "\n")+1)
	for text != "" {
		i := strings.IndexByte(text, '\n') + 1
		if i == 0 {
			i = len(text)
		}
		lines = append(lines, text[:i])
		text = text[i:]
	}
	return lines
}

// diffLines compares two files line by line. It anchors on lines that occur once
// on each side (as git's patience does) and lets the library's Myers search only
// between anchors: alone it gives up after some fifty edits, and would then
// report everything in between as replaced. Deterministic; roughly linear.
func diffLines(a, b []string) []lcs.Diff {
	var out []lcs.Diff
	appendDiffs(&out, a, b, 0, 0, 0)
	return out
}

// maxAnchorDepth bounds the recursion; what is left then goes to the library.
const maxAnchorDepth = 64

func appendDiffs(out *[]lcs.Diff, a, b []string, offA, offB, depth int) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b, offA, offB = a[1:], b[1:], offA+1, offB+1
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 && len(b) == 0 {
		return
	}
	if len(a) == 0 || len(b) == 0 {
		emit(out, lcs.Diff{Start: offA, End: offA + len(a), ReplStart: offB, ReplEnd: offB + len(b)})
		return
	}
	var anchors []anchor
	if depth < maxAnchorDepth {
		anchors = uniqueAnchors(a, b)
	}
	if len(anchors) == 0 {
		for _, d := range lcs.DiffLines(a, b) {
			emit(out, lcs.Diff{Start: d.Start + offA, End: d.End + offA, ReplStart: d.ReplStart + offB, ReplEnd: d.ReplEnd + offB})
		}
		return
	}
	fromA, fromB := 0, 0
	for _, m := range anchors {
		appendDiffs(out, a[fromA:m.a], b[fromB:m.b], offA+fromA, offB+fromB, depth+1)
		fromA, fromB = m.a+1, m.b+1
	}
	appendDiffs(out, a[fromA:], b[fromB:], offA+fromA, offB+fromB, depth+1)
}

// emit appends a difference, joining it to the one before when they touch.
func emit(out *[]lcs.Diff, d lcs.Diff) {
	if n := len(*out); n > 0 {
		if last := &(*out)[n-1]; last.End == d.Start && last.ReplEnd == d.ReplStart {
			last.End, last.ReplEnd = d.End, d.ReplEnd
			return
		}
	}
	*out = append(*out, d)
}

type anchor struct{ a, b int }

// uniqueAnchors returns the longest run, rising on both sides, of lines that
// occur exactly once in a and exactly once in b.
func uniqueAnchors(a, b []string) []anchor {
	type seen struct{ a, b, inA, inB int }
	table := make(map[string]*seen, len(a))
	for i, line := range a {
		s := table[line]
		if s == nil {
			s = &seen{}
			table[line] = s
		}
		s.a = i
		s.inA++
	}
	for i, line := range b {
		if s := table[line]; s != nil {
			s.b = i
			s.inB++
		}
	}
	// Longest increasing subsequence of positions in b, taken in the order of a.
	var piles []int // index into cand of the top of each pile
	var cand []anchor
	var prev []int
	for i, line := range a {
		s := table[line]
		if s.inA != 1 || s.inB != 1 {
			continue
		}
		lo, hi := 0, len(piles)
		for lo < hi {
			if mid := (lo + hi) / 2; cand[piles[mid]].b < s.b {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		below := -1
		if lo > 0 {
			below = piles[lo-1]
		}
		cand = append(cand, anchor{i, s.b})
		prev = append(prev, below)
		if lo == len(piles) {
			piles = append(piles, len(cand)-1)
		} else {
			piles[lo] = len(cand) - 1
		}
	}
	if len(piles) == 0 {
		return nil
	}
	out := make([]anchor, len(piles))
	for i, k := len(piles)-1, piles[len(piles)-1]; i >= 0; i, k = i-1, prev[k] {
		out[i] = cand[k]
	}
	return out
}

// hunk is a group of neighbouring differences with their context, half-open
// line ranges counted from 0.
type hunk struct {
	a0, a1, b0, b1 int
	diffs          []lcs.Diff
}

// hunks groups differences that lie within twice the context of each other.
func hunks(diffs []lcs.Diff, lenA, context int) []hunk {
	var out []hunk
	for _, d := range diffs {
		if n := len(out); n > 0 && d.Start-out[n-1].diffs[len(out[n-1].diffs)-1].End <= 2*context {
			out[n-1].diffs = append(out[n-1].diffs, d)
			continue
		}
		out = append(out, hunk{diffs: []lcs.Diff{d}})
	}
	for i := range out {
		h := &out[i]
		first, last := h.diffs[0], h.diffs[len(h.diffs)-1]
		lead := min(context, first.Start)
		trail := min(context, lenA-last.End)
		h.a0, h.b0 = first.Start-lead, first.ReplStart-lead
		h.a1, h.b1 = last.End+trail, last.ReplEnd+trail
	}
	return out
}
