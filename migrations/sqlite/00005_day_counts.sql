-- +goose Up

-- What whole days come to, so that pages do not count the rows of weeks: answers to a fixed list of questions, each of one
-- day, as vapshadow writes and reads them. They are good as long as there is no change of the day: each commit leaves one,
-- in its own transaction.

CREATE TABLE day_counts (
    question TEXT NOT NULL,
    scope    TEXT NOT NULL,
    day      TEXT NOT NULL,
    content  BLOB NOT NULL,
    PRIMARY KEY (question, scope, day)
);
CREATE INDEX day_counts_by_day ON day_counts (day);

CREATE TABLE day_changes (
    day    TEXT NOT NULL,
    writer TEXT NOT NULL,
    stamp  TEXT NOT NULL,
    PRIMARY KEY (day, writer)
) WITHOUT ROWID;

-- The days that there are already. From one to the next the index leads, past all rows of the day.
INSERT INTO day_changes (day, writer, stamp)
WITH RECURSIVE days (day) AS (
    SELECT min(substr(minute, 1, 10)) FROM (SELECT min(minute) AS minute FROM rollups UNION ALL SELECT min(stage_timestamp) FROM failures)
    UNION ALL
    SELECT (SELECT min(substr(minute, 1, 10)) FROM (
        SELECT min(minute) AS minute FROM rollups WHERE minute > days.day || 'U'
        UNION ALL SELECT min(stage_timestamp) FROM failures WHERE stage_timestamp > days.day || 'U'))
    FROM days WHERE day IS NOT NULL
)
SELECT day, '', '' FROM days WHERE day IS NOT NULL;

CREATE VIEW v_day_counts AS
SELECT question, scope, day, content FROM day_counts AS c
WHERE NOT EXISTS (SELECT 1 FROM day_changes AS d WHERE d.day = c.day);

-- +goose Down
DROP VIEW v_day_counts;
DROP TABLE day_changes;
DROP TABLE day_counts;
