// Package fsoptest runs a test again in a child process that is made otherwise:
// as an unprivileged user, in namespaces of its own, with few descriptors, on
// another file system. Only tests import it.
//
// Contract: each function is called first thing in a test, with the test not yet
// having changed anything. In the parent it returns false when the child is
// through, having taken over its outcome; in the child it returns true. What a
// machine cannot do is skipped by name.
package fsoptest
