// Package topo orders graphs of things that depend on each other: one Kahn sort
// for every DAG in ambit, its waves, and its cycles.
//
// Direction: deps(n) names what n waits for. A dependency that is not among the
// nodes does not constrain anything. A node that depends on itself is a cycle of
// one.
//
// Frontier is the algorithm one step at a time: it knows which nodes are free
// because all they wait for is settled. Sort, Waves and every caller's notion of
// "ready" run on it, so they cannot disagree.
//
// Cost: linear in nodes and dependencies, plus a logarithm for ordering ties.
// The package is pure; a Frontier is not safe for concurrent use.
package topo
