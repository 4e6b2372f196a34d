-- +goose Up

-- What came of comparing vapshadow's decisions with those that an apiserver recorded in its audit log. There are few such
-- rows, so the tables are not split into days.

CREATE TABLE vapshadow.agreement_runs (
    last_event         timestamptz NOT NULL,
    row_key            bytea       NOT NULL,
    run                text        NOT NULL,
    cluster            text        NOT NULL,
    log                text        NOT NULL,
    first_event        timestamptz NOT NULL,
    verified_at        timestamptz NOT NULL,
    kubernetes_version text        NOT NULL,
    vapshadow_version  text        NOT NULL,
    apiserver_version  text        NOT NULL,
    cel_version        text        NOT NULL,
    ingested           bigint      NOT NULL,
    evaluated          bigint      NOT NULL,
    not_admission      bigint      NOT NULL,
    skipped            bigint      NOT NULL,
    dead_lettered      bigint      NOT NULL,
    recorded           bigint      NOT NULL,
    unfinished         bigint      NOT NULL,
    PRIMARY KEY (last_event, row_key)
);
CREATE UNIQUE INDEX agreement_runs_by_run ON vapshadow.agreement_runs (run);

CREATE TABLE vapshadow.agreement (
    last_event timestamptz NOT NULL,
    row_key    bytea       NOT NULL,
    run        text        NOT NULL,
    cluster    text        NOT NULL,
    policy     text        NOT NULL,
    binding    text        NOT NULL,
    annotation text        NOT NULL,
    outcome    text        NOT NULL,
    reason     text        NOT NULL,
    count      bigint      NOT NULL,
    audit_ids  text[]      NOT NULL,
    PRIMARY KEY (last_event, row_key)
);
CREATE INDEX agreement_by_run ON vapshadow.agreement (run);

CREATE VIEW vapshadow.v_agreement_runs AS
SELECT run, cluster, log, first_event, last_event, verified_at, kubernetes_version, vapshadow_version, apiserver_version,
    cel_version, ingested, evaluated, not_admission, skipped, dead_lettered,
    ingested - evaluated - not_admission - skipped - dead_lettered AS difference, recorded, unfinished
FROM vapshadow.agreement_runs;
COMMENT ON VIEW vapshadow.v_agreement_runs IS 'One row for each comparison with the decisions that an apiserver recorded in a log.';
COMMENT ON COLUMN vapshadow.v_agreement_runs.run IS 'A digest of what was compared, by what, and of what came out.';
COMMENT ON COLUMN vapshadow.v_agreement_runs.log IS 'A digest of the first event of the log: a log that has grown keeps it.';
COMMENT ON COLUMN vapshadow.v_agreement_runs.first_event IS 'The earliest time of an event that was compared.';
COMMENT ON COLUMN vapshadow.v_agreement_runs.last_event IS 'The latest time of an event that was compared.';
COMMENT ON COLUMN vapshadow.v_agreement_runs.verified_at IS 'When the comparison was made last.';
COMMENT ON COLUMN vapshadow.v_agreement_runs.kubernetes_version IS 'The apiserver that wrote the log, as it was given.';
COMMENT ON COLUMN vapshadow.v_agreement_runs.difference IS 'Anything but 0 means that an event was lost or counted twice.';
COMMENT ON COLUMN vapshadow.v_agreement_runs.recorded IS 'The events that hold a decision of the apiserver.';
COMMENT ON COLUMN vapshadow.v_agreement_runs.unfinished IS 'The requests with a decision whose end the log does not hold.';

-- The order of the window: a run in which the policy was evaluated comes before one in which it was not given; then the
-- one that reaches furthest; then the newest.
CREATE VIEW vapshadow.v_agreement AS
SELECT a.run, a.cluster, r.log, r.first_event, a.last_event, r.verified_at, a.policy, a.binding, a.annotation, a.outcome,
    a.reason, a.count, a.audit_ids,
    a.run = first_value(a.run) OVER (
        PARTITION BY a.cluster, r.log, a.policy
        ORDER BY a.outcome = 'NotGiven', a.last_event DESC, r.verified_at DESC, a.run
    ) AS latest
FROM vapshadow.agreement AS a JOIN vapshadow.agreement_runs AS r ON r.run = a.run;
COMMENT ON VIEW vapshadow.v_agreement IS 'How many decisions of each policy and binding came to what, compared with the apiserver''s own, in each run.';
COMMENT ON COLUMN vapshadow.v_agreement.annotation IS 'The key of an audit annotation, whose values are counted then; empty for decisions.';
COMMENT ON COLUMN vapshadow.v_agreement.outcome IS 'Agreed, Disagreed, Undecided (vapshadow does not know), NotRecorded (the log does not tell), or NotGiven (the policy was not there to be evaluated).';
COMMENT ON COLUMN vapshadow.v_agreement.reason IS 'Of Agreed: BothFail, BothPass or Reordered. Of Disagreed: the kind. Of Undecided: what is not known.';
COMMENT ON COLUMN vapshadow.v_agreement.audit_ids IS 'The first events that the two sides disagree on.';
COMMENT ON COLUMN vapshadow.v_agreement.latest IS 'No later run tells of the policy in the same log. A sum over the latest rows counts no log twice.';

-- Its grants have to be given again: call grant_writer and grant_reader after this migration.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION vapshadow.grant_writer(role name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM vapshadow.grant_reader(role);
    EXECUTE format('GRANT SELECT, INSERT ON vapshadow.failures, vapshadow.annotations, vapshadow.policies TO %I', role);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE ON vapshadow.rollups, vapshadow.ledger, vapshadow.positions TO %I', role);
    EXECUTE format('GRANT SELECT, INSERT, DELETE ON vapshadow.deliveries, vapshadow.dead_letters, vapshadow.checkpoints,
        vapshadow.checkpoint_chunks, vapshadow.agreement TO %I', role);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON vapshadow.agreement_runs TO %I', role);
    EXECUTE format('GRANT EXECUTE ON FUNCTION vapshadow.ensure_days(date[]), vapshadow.days_before(date),
        vapshadow.drop_day(date, text), vapshadow.drop_outliers(date) TO %I', role);
END
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION vapshadow.grant_writer(role name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM vapshadow.grant_reader(role);
    EXECUTE format('GRANT SELECT, INSERT ON vapshadow.failures, vapshadow.annotations, vapshadow.policies TO %I', role);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE ON vapshadow.rollups, vapshadow.ledger, vapshadow.positions TO %I', role);
    EXECUTE format('GRANT SELECT, INSERT, DELETE ON vapshadow.deliveries, vapshadow.dead_letters, vapshadow.checkpoints,
        vapshadow.checkpoint_chunks TO %I', role);
    EXECUTE format('GRANT EXECUTE ON FUNCTION vapshadow.ensure_days(date[]), vapshadow.days_before(date),
        vapshadow.drop_day(date, text), vapshadow.drop_outliers(date) TO %I', role);
END
$$;
-- +goose StatementEnd

DROP VIEW vapshadow.v_agreement, vapshadow.v_agreement_runs;
DROP TABLE vapshadow.agreement, vapshadow.agreement_runs;
