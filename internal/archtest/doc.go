// Package archtest holds the tests that keep the house as it was drawn: which
// floor may import which, who starts processes, which modules are linked and
// under which licences. It has no code of its own.
//
// The floors are read from the import clauses of every source file, whatever
// platform it is for, so that make test finds a broken one without the linter
// (whose depguard rules say the same).
package archtest
