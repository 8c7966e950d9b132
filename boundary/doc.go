// Package boundary declares, as data, the container in which the work of a task
// would run, and renders it: its hash, the command lines of docker, podman and
// bubblewrap, and a report in plain terms.
//
// # Contract
//
// New makes a Spec of a task and its working tree, Parse reads one back from JSON.
// Neither creates anything: the package is pure, without files, processes, clock or
// machine of its own; what is known of the machine is handed in. The same input
// gives the same spec, the same hash and the same command line everywhere. All
// functions may be called concurrently; nothing that is returned is shared with
// another result or with the input.
//
// The declared form of docker's command line (DockerArgv) is a rendering of the
// spec and nothing else. What would really be run differs (DockerRun, PodmanArgv,
// BwrapArgv), and each difference is listed with its reason, as is each part of the
// spec that an engine cannot carry.
//
// Refusals are *fault.Error with code Invalid, or Unsupported where a limit exceeds
// the machine. One finding is the error's message; several are its diagnostics.
//
// # Protects against
//
// A path, name, image or value that the engine would read as something else: an
// option instead of an image, a second mount option behind a comma, a name that
// shadows another. A mount that would make writable what is declared read-only, or
// show what is writable as fixed. A spec file that was changed after it was hashed,
// that leaves out a protection, says a key twice, or holds one nobody knows. A
// security option that takes a protection away.
//
// # Limits
//
// Paths are compared as text. Whether two of them are one place by a link or a
// mount is for whoever applies the spec to find out. A spec says what should hold;
// that it holds is proved from inside.
package boundary
