// Package config is what a person and a project set beforehand.
//
// Contract: four layers, each over the one before: the person's
// $XDG_CONFIG_HOME/ambit/config.yaml, the project's .ambit.yaml at the root of
// the resource, the environment (AMBIT_*), flags. The first three are read
// here; a face lays its flags over the result. One table (keys.go) says what
// exists, where it may stand, and what its values are.
//
// The project's file comes out of a tree that others write: it can only tighten
// policy (confine, network, home, on_failure, timeout), prefer an isolating
// strategy where the person left the choice open, and add to include. What it
// may not do is a warning that says so, never an error,
// and never done. Only flags, the environment and the person's own file loosen.
//
// Limits: a file has at most 1 MiB; it must be a regular file, and the
// project's must not be reached through a link. All findings are reported, with
// line and column.
package config
