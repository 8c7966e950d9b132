// Package probe proves a boundary from inside: it tries what must fail and what
// must work, as a command under the very conditions of every other command.
//
// Contract: Prove puts canaries on the host (a listening TCP, UDP and unix
// socket, a file in the plan's folder), runs this binary inside with ArgInside,
// and checks on the host what the attempts inside left behind. One line for each
// thing that was tried; a line holds when it was refused, or when it had only a
// private effect, and for what must work when it worked. Nothing of the person's
// is changed; what an attempt made is removed.
//
// It protects against a boundary that is declared and not there: a kernel that
// silently does less, a mount that did not take, a rule in the wrong order (C82).
//
// Limits: it shows that these attempts fail, not that none succeeds. A canary on
// the host needs a free port on the host's loopback; where the host has no IPv6
// there is no line about it.
package probe
