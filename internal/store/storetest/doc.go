// Package storetest is the conformance suite for every engine.Store.
//
// Contract: Run opens stores through the given function and checks what the
// interface promises: nothing lost in a round trip, versions compared, queries
// by component, leases that only death takes away, events in order. Opening
// twice must give two handles on the same data, as two processes have.
//
// Limits: what only one technology can show (damage, full disks, several real
// processes) is tested beside that technology.
package storetest
