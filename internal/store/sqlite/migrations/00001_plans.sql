-- Times are UTC text of fixed width, so that they sort: 2006-01-02T15:04:05.000000000Z.
-- doc is the JSON of what the columns beside it do not hold.

-- +goose Up
PRAGMA application_id = 0x616d6274;

CREATE TABLE plans (
    id         TEXT NOT NULL PRIMARY KEY,
    version    INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    title      TEXT NOT NULL,
    status     TEXT NOT NULL,
    created_at TEXT,
    updated_at TEXT,
    dir        TEXT NOT NULL,
    cwd        TEXT NOT NULL,
    doc        TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX plans_newest ON plans (created_at DESC, id);

CREATE TABLE steps (
    plan       TEXT NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
    id         TEXT NOT NULL,
    ord        INTEGER NOT NULL,
    title      TEXT NOT NULL,
    status     TEXT NOT NULL,
    started_at TEXT,
    ended_at   TEXT,
    runs       INTEGER NOT NULL,
    doc        TEXT NOT NULL,
    PRIMARY KEY (plan, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE sandboxes (
    plan     TEXT NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
    id       TEXT NOT NULL,
    ord      INTEGER NOT NULL,
    strategy TEXT NOT NULL,
    status   TEXT NOT NULL,
    path     TEXT NOT NULL, -- of the resource: canonical, absolute
    spelled  TEXT NOT NULL,
    dir      TEXT NOT NULL,
    doc      TEXT NOT NULL,
    PRIMARY KEY (plan, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sandboxes_path ON sandboxes (path);

CREATE TABLE checkpoints (
    plan TEXT NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    ord  INTEGER NOT NULL,
    at   TEXT,
    auto INTEGER NOT NULL,
    doc  TEXT NOT NULL,
    PRIMARY KEY (plan, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE applies (
    plan   TEXT NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
    id     TEXT NOT NULL,
    ord    INTEGER NOT NULL,
    dest   TEXT NOT NULL,
    at     TEXT,
    status TEXT NOT NULL,
    doc    TEXT NOT NULL,
    PRIMARY KEY (plan, id)
) STRICT, WITHOUT ROWID;

-- A lease may be older than its plan, so it does not refer to it.
CREATE TABLE leases (
    key     TEXT NOT NULL PRIMARY KEY,
    plan    TEXT NOT NULL,
    pid     INTEGER NOT NULL,
    start   TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    pid_ns  TEXT NOT NULL,
    since   TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    plan TEXT NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
    seq  INTEGER NOT NULL,
    at   TEXT,
    kind TEXT NOT NULL,
    data TEXT,
    PRIMARY KEY (plan, seq)
) STRICT, WITHOUT ROWID;
