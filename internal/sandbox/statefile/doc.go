// Package statefile keeps what a sandbox's strategy knows in one file of the
// sandbox's folder, so that any process can go on with it.
//
// Contract: the file is replaced as a whole, durably; a reader finds the old state
// or the new one. What a version of ambit does not understand is refused, never
// guessed at.
//
// Limits: one writer at a time, which the engine's plan lock sees to. The folder
// is ambit's own; commands in a sandbox never see it.
package statefile
