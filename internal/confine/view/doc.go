// Package view decides what of the host a confined command finds: which folders
// show read-only, what its home looks like, which tool chains and caches are
// there, what is hidden.
//
// Contract: Compute turns an engine.CageSpec and a Host (the real machine, or a
// test's) into a Layout: an ordered list of mounts and files as plain data. It
// changes nothing; the native confinement carries the list out.
//
// It protects the person's secrets: whatever it does not name is absent. A
// folder shows only because the system is made of it (/usr, /etc, /opt, …),
// because a command on PATH or a known tool chain needs it, because the spec
// names it, or because it is a sandbox.
//
// Limits: a sandbox of a whole home shows that home, with the known secret
// places masked. Files that a system folder holds and the person may read
// (/etc/passwd, /srv/…) show read-only.
package view
