-- +goose Up

-- What people and dashboards read. Names and columns are stable; additions only. The Postgres store has the same, with
-- comments that say what they mean.

CREATE VIEW v_failures AS
SELECT stage_timestamp, cluster, audit_id, item, operation, api_group, api_version, resource, sub_resource, kind, namespace,
    name, owner_kind, owner_name, username, user_groups, user_agent, dry_run, code, policy, binding, params_namespace,
    params_name, policy_hash, binding_hash, param_hash, validation_actions, expression_index, n, result, message, reason,
    ignored, unknown_attributes, because, evidence, effect, blocks_anyway
FROM failures;

CREATE VIEW v_annotations AS
SELECT stage_timestamp, cluster, audit_id, item, annotation_key, annotation_value FROM annotations;

CREATE VIEW v_rollups AS
SELECT minute, cluster, policy, binding, policy_hash, binding_hash, namespace, api_group, resource, sub_resource, operation,
    result, evidence, because, effect, blocks_anyway, count
FROM rollups;

CREATE VIEW v_rollups_hourly AS
SELECT substr(minute, 1, 13) || ':00:00.000000Z' AS hour, cluster, policy, binding, namespace, api_group, resource, sub_resource, operation,
    result, evidence, because, effect, blocks_anyway, sum(count) AS count
FROM rollups
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14;

CREATE VIEW v_rollups_daily AS
SELECT substr(minute, 1, 10) || 'T00:00:00.000000Z' AS day, cluster, policy, binding, namespace, api_group, resource, sub_resource, operation,
    result, evidence, because, effect, blocks_anyway, sum(count) AS count
FROM rollups
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14;

CREATE VIEW v_coverage_daily AS
WITH reasons AS (
    SELECT substr(minute, 1, 10) || 'T00:00:00.000000Z' AS day, cluster, policy, binding, because, sum(count) AS count
    FROM rollups WHERE result = 'Unknown'
    GROUP BY 1, 2, 3, 4, 5
), unknown AS (
    SELECT day, cluster, policy, binding, json_group_object(because, count) AS unknown_by_reason
    FROM reasons GROUP BY 1, 2, 3, 4
), totals AS (
    SELECT substr(minute, 1, 10) || 'T00:00:00.000000Z' AS day, cluster, policy, binding,
        sum(count) AS matched,
        coalesce(sum(count) FILTER (WHERE result <> 'Unknown' AND evidence = 'Exact'), 0) AS decided_exact,
        coalesce(sum(count) FILTER (WHERE result <> 'Unknown' AND evidence = 'Presumed'), 0) AS decided_presumed,
        coalesce(sum(count) FILTER (WHERE result <> 'Unknown' AND evidence NOT IN ('Exact', 'Presumed')), 0) AS decided_otherwise,
        coalesce(sum(count) FILTER (WHERE result = 'Unknown'), 0) AS unknown
    FROM rollups
    GROUP BY 1, 2, 3, 4
)
SELECT day, cluster, policy, binding, matched, decided_exact, decided_presumed, decided_otherwise, unknown,
    coalesce(unknown_by_reason, '{}') AS unknown_by_reason
FROM totals LEFT JOIN unknown USING (day, cluster, policy, binding);

CREATE VIEW v_coverage AS
WITH reasons AS (
    SELECT cluster, policy, binding, because, sum(count) AS count
    FROM rollups WHERE result = 'Unknown'
    GROUP BY 1, 2, 3, 4
), unknown AS (
    SELECT cluster, policy, binding, json_group_object(because, count) AS unknown_by_reason
    FROM reasons GROUP BY 1, 2, 3
), totals AS (
    SELECT cluster, policy, binding, sum(matched) AS matched, sum(decided_exact) AS decided_exact,
        sum(decided_presumed) AS decided_presumed, sum(decided_otherwise) AS decided_otherwise,
        sum(unknown) AS unknown
    FROM v_coverage_daily
    GROUP BY 1, 2, 3
)
SELECT cluster, policy, binding, matched, decided_exact, decided_presumed, decided_otherwise, unknown,
    coalesce(unknown_by_reason, '{}') AS unknown_by_reason
FROM totals LEFT JOIN unknown USING (cluster, policy, binding);

CREATE VIEW v_ledger AS
SELECT source, partition, ingested, evaluated, not_admission, skipped, dead_lettered, requests,
    ingested - evaluated - not_admission - skipped - dead_lettered AS difference
FROM (
    SELECT source, partition,
        coalesce(sum(count) FILTER (WHERE outcome = 'Ingested'), 0) AS ingested,
        coalesce(sum(count) FILTER (WHERE outcome = 'Evaluated'), 0) AS evaluated,
        coalesce(sum(count) FILTER (WHERE outcome = 'NotAdmission'), 0) AS not_admission,
        coalesce(sum(count) FILTER (WHERE outcome = 'Skipped'), 0) AS skipped,
        coalesce(sum(count) FILTER (WHERE outcome = 'DeadLettered'), 0) AS dead_lettered,
        coalesce(sum(count) FILTER (WHERE outcome = 'Requests'), 0) AS requests
    FROM ledger
    GROUP BY source, partition
) AS totals;

CREATE VIEW v_ledger_lines AS
SELECT source, partition, cluster, outcome, reason, count FROM ledger;

CREATE VIEW v_dead_letters AS
SELECT at, cluster, source, partition, mark_generation, mark_offset, mark_detail, n, delivery, reason, detail
FROM dead_letters;

CREATE VIEW v_policies AS
SELECT cluster, kind, name, hash, text FROM policies;

CREATE VIEW v_positions AS
SELECT source, partition, generation, "offset", event_time, updated_at FROM positions;

CREATE VIEW v_schema AS
SELECT coalesce(max(version_id), 0) AS version FROM schema_migrations WHERE is_applied;

-- +goose Down
DROP VIEW v_schema;
DROP VIEW v_positions;
DROP VIEW v_policies;
DROP VIEW v_dead_letters;
DROP VIEW v_ledger_lines;
DROP VIEW v_ledger;
DROP VIEW v_coverage;
DROP VIEW v_coverage_daily;
DROP VIEW v_rollups_daily;
DROP VIEW v_rollups_hourly;
DROP VIEW v_rollups;
DROP VIEW v_annotations;
DROP VIEW v_failures;
