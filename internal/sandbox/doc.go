// Package sandbox lists the strategies by which ambit isolates resources.
//
// Contract: All is the only list. The command line gives it to the engine,
// doctor shows it, and the conformance suite runs over it, so a strategy that is
// offered and not tested cannot be.
package sandbox
