// Package none runs commands with all the caller's rights. It is chosen by the
// person, by name, and never otherwise.
//
// Contract: Confiner implements engine.Confiner. A command runs in a session and
// process tree of its own, which is ended with it (package guard); nothing else
// is confined, and Prove says so.
package none
