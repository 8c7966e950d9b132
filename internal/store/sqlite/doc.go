// Package sqlite keeps ambit's plans, leases and events in one SQLite file.
//
// Contract: Store implements engine.Store and passes the suite in
// internal/store/storetest. Several processes use one file at once: writers take
// turns (BEGIN IMMEDIATE, five seconds of patience), readers never wait. When a
// writing method returns nil the transaction has been fsynced (WAL with
// synchronous=FULL, fullfsync where the system knows it). Every connection reads
// its settings back and is refused if one of them did not take.
//
// Columns hold what is searched, compared or a path; the rest of a record is a
// JSON document in its row, so that a new field of an engine type needs no
// migration. Byte strings that are not UTF-8 survive both.
//
// What it protects against: a lost update (version compared in the same
// transaction), a half-made database (made under another name and renamed into
// place), a newer ambit's file (refused untouched), a damaged one (said, never
// overwritten; SetAside moves it away on request).
//
// Limits: one host. SQLite's WAL cannot be shared through a network file system
// between machines. POSIX locks belong to the process: never open and close the
// database file by other means in a process that has a Store on it.
package sqlite
