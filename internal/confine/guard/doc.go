// Package guard runs commands without namespaces and keeps hold of their process
// trees as well as that can be done: for the rungs below native.
//
// Contract: a Warden starts one guard process per command, which seals itself,
// forks the command and, as subreaper of everything it leaves behind, ends all of
// it when the command ends, when the caller's connection closes, or on SIGTERM.
// Where the caller may make a cgroup (version 2), guard and command are born in
// one, and the kernel kills what is in it. Every running command is recorded in
// the plan's folder, so that other processes can list and end it.
//
// It protects against commands that outlive their step: daemons, double forks,
// new sessions, trees that fork while they are killed.
//
// Limits: without a cgroup, a tree whose guard and caller are both killed with
// SIGKILL at the same moment survives until the plan is next opened or closed,
// when it is found by a mark in its environment, unless it removed that mark;
// processes of another uid (sudo) cannot be killed. The native rung has neither gap.
package guard
