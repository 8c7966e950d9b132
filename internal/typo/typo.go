// Package typo finds the name that was probably meant.
package typo

// Nearest returns the known name closest to the given one, if it is close
// enough to be a slip of the hand: at most two edits (insert, delete, replace,
// swap of neighbours) and fewer than half of its letters. Else it returns "".
// Ties go to the first in known.
func Nearest(name string, known []string) string {
	best, bestCost := "", 3
	for _, k := range known {
		if c := distance(name, k); c < bestCost && 2*c < max(len(name), len(k)) {
			best, bestCost = k, c
		}
	}
	return best
}

// distance counts the edits between two words, swaps of neighbours as one
// (optimal string alignment).
func distance(a, b string) int {
	if d := len(a) - len(b); d > 2 || d < -2 {
		return 3 // more than Nearest ever takes
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
