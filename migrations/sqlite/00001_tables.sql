-- +goose Up

-- Tables, columns and views are those of the Postgres store. A time is a text in UTC with microseconds, all of one length,
-- so that it sorts; a list is a JSON array; a boolean is 0 or 1.
--
-- Every table is told apart by a digest of what makes a row unique (row_key): names from a log may be longer than an
-- index can hold.

CREATE TABLE failures (
    stage_timestamp    TEXT        NOT NULL,
    row_key            BLOB        NOT NULL,
    cluster            TEXT        NOT NULL,
    audit_id           TEXT        NOT NULL,
    item               INTEGER     NOT NULL,
    operation          TEXT        NOT NULL,
    api_group          TEXT        NOT NULL,
    api_version        TEXT        NOT NULL,
    resource           TEXT        NOT NULL,
    sub_resource       TEXT        NOT NULL,
    kind               TEXT        NOT NULL,
    namespace          TEXT        NOT NULL,
    name               TEXT        NOT NULL,
    owner_kind         TEXT        NOT NULL,
    owner_name         TEXT        NOT NULL,
    username           TEXT        NOT NULL,
    user_groups        TEXT        NOT NULL,
    user_agent         TEXT        NOT NULL,
    dry_run            INTEGER     NOT NULL,
    code               INTEGER     NOT NULL,
    policy             TEXT        NOT NULL,
    binding            TEXT        NOT NULL,
    params_namespace   TEXT        NOT NULL,
    params_name        TEXT        NOT NULL,
    policy_hash        TEXT        NOT NULL,
    binding_hash       TEXT        NOT NULL,
    param_hash         TEXT        NOT NULL,
    validation_actions TEXT        NOT NULL,
    expression_index   INTEGER     NOT NULL,
    n                  INTEGER     NOT NULL,
    result             TEXT        NOT NULL,
    message            TEXT        NOT NULL,
    reason             TEXT        NOT NULL,
    ignored            INTEGER     NOT NULL,
    unknown_attributes TEXT        NOT NULL,
    because            TEXT        NOT NULL,
    evidence           TEXT        NOT NULL,
    effect             TEXT        NOT NULL,
    blocks_anyway      INTEGER     NOT NULL,
    PRIMARY KEY (stage_timestamp, row_key)
);
CREATE INDEX failures_by_policy ON failures (cluster, policy, binding, stage_timestamp);
CREATE INDEX failures_by_namespace ON failures (namespace, stage_timestamp);
CREATE INDEX failures_by_audit_id ON failures (audit_id);

CREATE TABLE annotations (
    stage_timestamp  TEXT        NOT NULL,
    row_key          BLOB        NOT NULL,
    cluster          TEXT        NOT NULL,
    audit_id         TEXT        NOT NULL,
    item             INTEGER     NOT NULL,
    annotation_key   TEXT        NOT NULL,
    annotation_value TEXT        NOT NULL,
    PRIMARY KEY (stage_timestamp, row_key)
);
CREATE INDEX annotations_by_audit_id ON annotations (audit_id);

CREATE TABLE rollups (
    minute        TEXT        NOT NULL,
    row_key       BLOB        NOT NULL,
    cluster       TEXT        NOT NULL,
    policy        TEXT        NOT NULL,
    binding       TEXT        NOT NULL,
    policy_hash   TEXT        NOT NULL,
    binding_hash  TEXT        NOT NULL,
    namespace     TEXT        NOT NULL,
    api_group     TEXT        NOT NULL,
    resource      TEXT        NOT NULL,
    sub_resource  TEXT        NOT NULL,
    operation     TEXT        NOT NULL,
    result        TEXT        NOT NULL,
    evidence      TEXT        NOT NULL,
    because       TEXT        NOT NULL,
    effect        TEXT        NOT NULL,
    blocks_anyway INTEGER     NOT NULL,
    count         INTEGER      NOT NULL,
    PRIMARY KEY (minute, row_key)
);
CREATE INDEX rollups_by_policy ON rollups (cluster, policy, binding, minute);
CREATE INDEX rollups_by_namespace ON rollups (namespace, minute);

CREATE TABLE ledger (
    row_key   BLOB   PRIMARY KEY,
    source    TEXT   NOT NULL,
    partition TEXT   NOT NULL,
    cluster   TEXT   NOT NULL,
    outcome   TEXT   NOT NULL,
    reason    TEXT   NOT NULL,
    count     INTEGER NOT NULL
);

-- What names a place in a source is kept byte for byte: a path need not be UTF-8. The columns of type text are for people.
CREATE TABLE positions (
    row_key         BLOB        PRIMARY KEY,
    source          TEXT        NOT NULL,
    partition       TEXT        NOT NULL,
    source_bytes    BLOB        NOT NULL,
    partition_bytes BLOB        NOT NULL,
    generation      INTEGER     NOT NULL,
    "offset"        INTEGER      NOT NULL,
    detail          BLOB        NOT NULL,
    event_time      TEXT,
    updated_at      TEXT        NOT NULL
);

CREATE TABLE deliveries (
    row_key   BLOB        PRIMARY KEY,
    stored_at TEXT        NOT NULL
);
CREATE INDEX deliveries_by_time ON deliveries (stored_at);

CREATE TABLE dead_letters (
    row_key         BLOB        PRIMARY KEY,
    at              TEXT        NOT NULL,
    cluster         TEXT        NOT NULL,
    source          TEXT        NOT NULL,
    partition       TEXT        NOT NULL,
    mark_generation INTEGER      NOT NULL,
    mark_offset     INTEGER      NOT NULL,
    mark_detail     TEXT        NOT NULL,
    n               INTEGER     NOT NULL,
    delivery        TEXT        NOT NULL,
    reason          TEXT        NOT NULL,
    detail          TEXT        NOT NULL
);
CREATE INDEX dead_letters_by_time ON dead_letters (at);

CREATE TABLE policies (
    row_key BLOB  PRIMARY KEY,
    cluster TEXT  NOT NULL,
    kind    TEXT  NOT NULL,
    name    TEXT  NOT NULL,
    hash    TEXT  NOT NULL,
    text    TEXT  NOT NULL
);

CREATE TABLE checkpoints (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    name    BLOB        NOT NULL,
    marks   BLOB        NOT NULL,
    written TEXT        NOT NULL
);
CREATE INDEX checkpoints_by_name ON checkpoints (name, id);

-- A checkpoint's content in pieces of 1 MiB at most, so that neither side holds all of it.
CREATE TABLE checkpoint_chunks (
    checkpoint_id INTEGER NOT NULL REFERENCES checkpoints ON DELETE CASCADE,
    n             INTEGER NOT NULL,
    content       BLOB    NOT NULL,
    PRIMARY KEY (checkpoint_id, n)
);

-- +goose Down
DROP TABLE checkpoint_chunks;
DROP TABLE checkpoints;
DROP TABLE policies;
DROP TABLE dead_letters;
DROP TABLE deliveries;
DROP TABLE positions;
DROP TABLE ledger;
DROP TABLE rollups;
DROP TABLE annotations;
DROP TABLE failures;
