// Package uncommitted is the part that strategies share for --dirty=refuse: what is
// said of uncommitted work, when a sandbox is made and when only asked whether it
// could be.
//
// Contract: it reads the checkout through gitx, hardened, and writes nothing. It
// keeps no state and is safe for concurrent use. Limit: the answer is of the moment;
// whoever makes a sandbox asks again.
package uncommitted
