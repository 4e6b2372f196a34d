-- +goose Up

-- What came of comparing vapshadow's decisions with those that an apiserver recorded. The Postgres store has the same,
-- with comments that say what the columns mean.

CREATE TABLE agreement_runs (
    last_event         TEXT    NOT NULL,
    row_key            BLOB    NOT NULL,
    run                TEXT    NOT NULL,
    cluster            TEXT    NOT NULL,
    log                TEXT    NOT NULL,
    first_event        TEXT    NOT NULL,
    verified_at        TEXT    NOT NULL,
    kubernetes_version TEXT    NOT NULL,
    vapshadow_version  TEXT    NOT NULL,
    apiserver_version  TEXT    NOT NULL,
    cel_version        TEXT    NOT NULL,
    ingested           INTEGER NOT NULL,
    evaluated          INTEGER NOT NULL,
    not_admission      INTEGER NOT NULL,
    skipped            INTEGER NOT NULL,
    dead_lettered      INTEGER NOT NULL,
    recorded           INTEGER NOT NULL,
    unfinished         INTEGER NOT NULL,
    PRIMARY KEY (last_event, row_key)
);
CREATE UNIQUE INDEX agreement_runs_by_run ON agreement_runs (run);

CREATE TABLE agreement (
    last_event TEXT    NOT NULL,
    row_key    BLOB    NOT NULL,
    run        TEXT    NOT NULL,
    cluster    TEXT    NOT NULL,
    policy     TEXT    NOT NULL,
    binding    TEXT    NOT NULL,
    annotation TEXT    NOT NULL,
    outcome    TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    count      INTEGER NOT NULL,
    audit_ids  TEXT    NOT NULL,
    PRIMARY KEY (last_event, row_key)
);
CREATE INDEX agreement_by_run ON agreement (run);

CREATE VIEW v_agreement_runs AS
SELECT run, cluster, log, first_event, last_event, verified_at, kubernetes_version, vapshadow_version, apiserver_version,
    cel_version, ingested, evaluated, not_admission, skipped, dead_lettered,
    ingested - evaluated - not_admission - skipped - dead_lettered AS difference, recorded, unfinished
FROM agreement_runs;

CREATE VIEW v_agreement AS
SELECT a.run, a.cluster, r.log, r.first_event, a.last_event, r.verified_at, a.policy, a.binding, a.annotation, a.outcome,
    a.reason, a.count, a.audit_ids,
    a.run = first_value(a.run) OVER (
        PARTITION BY a.cluster, r.log, a.policy
        ORDER BY a.outcome = 'NotGiven', a.last_event DESC, r.verified_at DESC, a.run
    ) AS latest
FROM agreement AS a JOIN agreement_runs AS r ON r.run = a.run;

-- +goose Down
DROP VIEW v_agreement;
DROP VIEW v_agreement_runs;
DROP TABLE agreement;
DROP TABLE agreement_runs;
