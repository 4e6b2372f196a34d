-- +goose Up

-- What whole days come to, so that pages do not count the rows of weeks: answers to a fixed list of questions, each of one
-- day, as vapshadow writes and reads them. They are good as long as there is no change of the day: each commit leaves one,
-- in its own transaction.

CREATE TABLE vapshadow.day_counts (
    question text  NOT NULL,
    scope    text  NOT NULL,
    day      text  NOT NULL,
    content  bytea NOT NULL,
    PRIMARY KEY (question, scope, day)
);
CREATE INDEX day_counts_by_day ON vapshadow.day_counts (day);
-- It is compressed already.
ALTER TABLE vapshadow.day_counts ALTER COLUMN content SET STORAGE EXTERNAL;

-- Rows that are updated again and again, one for each process and day: room on each page keeps the updates out of the index.
CREATE TABLE vapshadow.day_changes (
    day    text NOT NULL,
    writer text NOT NULL,
    stamp  text NOT NULL,
    PRIMARY KEY (day, writer)
) WITH (fillfactor = 50);

-- The days that there are already: each may have rows.
INSERT INTO vapshadow.day_changes (day, writer, stamp)
SELECT DISTINCT to_char(to_date(right(c.relname, 8), 'YYYYMMDD'), 'YYYY-MM-DD'), '', ''
FROM pg_inherits i
JOIN pg_class p ON p.oid = i.inhparent
JOIN pg_class c ON c.oid = i.inhrelid
WHERE p.relnamespace = 'vapshadow'::regnamespace AND p.relname IN ('failures', 'rollups') AND c.relname ~ '_[0-9]{8}$';

CREATE VIEW vapshadow.v_day_counts AS
SELECT question, scope, day, content FROM vapshadow.day_counts AS c
WHERE NOT EXISTS (SELECT FROM vapshadow.day_changes AS d WHERE d.day = c.day);
COMMENT ON VIEW vapshadow.v_day_counts IS 'What vapshadow has counted of whole days, for itself; nothing here is meant to be read by others.';

-- Its grants have to be given again: call grant_writer and grant_reader after this migration.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION vapshadow.grant_writer(role name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM vapshadow.grant_reader(role);
    EXECUTE format('GRANT SELECT, INSERT ON vapshadow.failures, vapshadow.annotations, vapshadow.policies TO %I', role);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE ON vapshadow.rollups, vapshadow.ledger, vapshadow.positions TO %I', role);
    EXECUTE format('GRANT SELECT, INSERT, DELETE ON vapshadow.deliveries, vapshadow.dead_letters, vapshadow.checkpoints,
        vapshadow.checkpoint_chunks, vapshadow.agreement, vapshadow.day_counts TO %I', role);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON vapshadow.agreement_runs, vapshadow.day_changes TO %I', role);
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
        vapshadow.checkpoint_chunks, vapshadow.agreement TO %I', role);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON vapshadow.agreement_runs TO %I', role);
    EXECUTE format('GRANT EXECUTE ON FUNCTION vapshadow.ensure_days(date[]), vapshadow.days_before(date),
        vapshadow.drop_day(date, text), vapshadow.drop_outliers(date) TO %I', role);
END
$$;
-- +goose StatementEnd

DROP VIEW vapshadow.v_day_counts;
DROP TABLE vapshadow.day_changes, vapshadow.day_counts;
