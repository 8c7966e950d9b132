// Package none is the strategy that isolates nothing: commands work on the real
// resource.
//
// Contract: it is never chosen by itself, only on request. It keeps no state of
// the resource, so Checkpoint, Restore and Rollback are refused as unsupported
// instead of doing nothing, and Changes says that nothing is tracked.
//
// Limits: what a command did to the resource can be neither shown nor taken back
// by ambit.
package none
