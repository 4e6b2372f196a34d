-- +goose Up

-- What people and dashboards read. Names and columns are stable; additions only. The SQLite store has the same.

CREATE VIEW vapshadow.v_failures AS
SELECT stage_timestamp, cluster, audit_id, item, operation, api_group, api_version, resource, sub_resource, kind, namespace,
    name, owner_kind, owner_name, username, user_groups, user_agent, dry_run, code, policy, binding, params_namespace,
    params_name, policy_hash, binding_hash, param_hash, validation_actions, expression_index, n, result, message, reason,
    ignored, unknown_attributes, because, evidence, effect, blocks_anyway
FROM vapshadow.failures;
COMMENT ON VIEW vapshadow.v_failures IS 'One row for each validation that did not pass on a request, and for each evaluation that could not be made (Error) or decided (Unknown) as a whole.';
COMMENT ON COLUMN vapshadow.v_failures.stage_timestamp IS 'When the event happened, as the audit log says.';
COMMENT ON COLUMN vapshadow.v_failures.item IS 'Counts the objects of a deletecollection from 0; 0 for all other requests.';
COMMENT ON COLUMN vapshadow.v_failures.code IS 'The HTTP status that the client got.';
COMMENT ON COLUMN vapshadow.v_failures.expression_index IS 'Which validation of the policy, from 0; -1 for the evaluation as a whole.';
COMMENT ON COLUMN vapshadow.v_failures.n IS 'Tells several rows of one expression_index apart.';
COMMENT ON COLUMN vapshadow.v_failures.result IS 'Fail, Error or Unknown.';
COMMENT ON COLUMN vapshadow.v_failures.ignored IS 'failurePolicy Ignore let the error through.';
COMMENT ON COLUMN vapshadow.v_failures.unknown_attributes IS 'What an Unknown hangs on.';
COMMENT ON COLUMN vapshadow.v_failures.because IS 'Why the first of the unknown attributes is not known.';
COMMENT ON COLUMN vapshadow.v_failures.evidence IS 'How well what the evaluation read is known: Exact, Presumed or Missing.';
COMMENT ON COLUMN vapshadow.v_failures.effect IS 'What the apiserver would have done with the binding as it is: Deny, Warn, Audit, several joined by +, or empty.';
COMMENT ON COLUMN vapshadow.v_failures.blocks_anyway IS 'The request is rejected whatever validationActions say.';

CREATE VIEW vapshadow.v_annotations AS
SELECT stage_timestamp, cluster, audit_id, item, annotation_key, annotation_value FROM vapshadow.annotations;
COMMENT ON VIEW vapshadow.v_annotations IS 'The audit annotations that the apiserver would have written.';

CREATE VIEW vapshadow.v_rollups AS
SELECT minute, cluster, policy, binding, policy_hash, binding_hash, namespace, api_group, resource, sub_resource, operation,
    result, evidence, because, effect, blocks_anyway, count
FROM vapshadow.rollups;
COMMENT ON VIEW vapshadow.v_rollups IS 'How many evaluations came to what, by minute. Passes are counted here, and are nowhere else.';

CREATE VIEW vapshadow.v_rollups_hourly AS
SELECT date_trunc('hour', minute, 'UTC') AS hour, cluster, policy, binding, namespace, api_group, resource, sub_resource, operation,
    result, evidence, because, effect, blocks_anyway, sum(count)::bigint AS count
FROM vapshadow.rollups
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14;
COMMENT ON VIEW vapshadow.v_rollups_hourly IS 'v_rollups by hour (UTC), whatever the text of the policy was.';

CREATE VIEW vapshadow.v_rollups_daily AS
SELECT date_trunc('day', minute, 'UTC') AS day, cluster, policy, binding, namespace, api_group, resource, sub_resource, operation,
    result, evidence, because, effect, blocks_anyway, sum(count)::bigint AS count
FROM vapshadow.rollups
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14;
COMMENT ON VIEW vapshadow.v_rollups_daily IS 'v_rollups by day (UTC), whatever the text of the policy was.';

CREATE VIEW vapshadow.v_coverage_daily AS
WITH reasons AS (
    SELECT date_trunc('day', minute, 'UTC') AS day, cluster, policy, binding, because, sum(count)::bigint AS count
    FROM vapshadow.rollups WHERE result = 'Unknown'
    GROUP BY 1, 2, 3, 4, 5
), unknown AS (
    SELECT day, cluster, policy, binding, jsonb_object_agg(because, count) AS unknown_by_reason
    FROM reasons GROUP BY 1, 2, 3, 4
), totals AS (
    SELECT date_trunc('day', minute, 'UTC') AS day, cluster, policy, binding,
        sum(count)::bigint AS matched,
        coalesce(sum(count) FILTER (WHERE result <> 'Unknown' AND evidence = 'Exact'), 0)::bigint AS decided_exact,
        coalesce(sum(count) FILTER (WHERE result <> 'Unknown' AND evidence = 'Presumed'), 0)::bigint AS decided_presumed,
        coalesce(sum(count) FILTER (WHERE result <> 'Unknown' AND evidence NOT IN ('Exact', 'Presumed')), 0)::bigint AS decided_otherwise,
        coalesce(sum(count) FILTER (WHERE result = 'Unknown'), 0)::bigint AS unknown
    FROM vapshadow.rollups
    GROUP BY 1, 2, 3, 4
)
SELECT day, cluster, policy, binding, matched, decided_exact, decided_presumed, decided_otherwise, unknown,
    coalesce(unknown_by_reason, '{}') AS unknown_by_reason
FROM totals LEFT JOIN unknown USING (day, cluster, policy, binding);
COMMENT ON VIEW vapshadow.v_coverage_daily IS 'v_coverage by day (UTC).';

CREATE VIEW vapshadow.v_coverage AS
WITH reasons AS (
    SELECT cluster, policy, binding, because, sum(count)::bigint AS count
    FROM vapshadow.rollups WHERE result = 'Unknown'
    GROUP BY 1, 2, 3, 4
), unknown AS (
    SELECT cluster, policy, binding, jsonb_object_agg(because, count) AS unknown_by_reason
    FROM reasons GROUP BY 1, 2, 3
), totals AS (
    SELECT cluster, policy, binding, sum(matched)::bigint AS matched, sum(decided_exact)::bigint AS decided_exact,
        sum(decided_presumed)::bigint AS decided_presumed, sum(decided_otherwise)::bigint AS decided_otherwise,
        sum(unknown)::bigint AS unknown
    FROM vapshadow.v_coverage_daily
    GROUP BY 1, 2, 3
)
SELECT cluster, policy, binding, matched, decided_exact, decided_presumed, decided_otherwise, unknown,
    coalesce(unknown_by_reason, '{}') AS unknown_by_reason
FROM totals LEFT JOIN unknown USING (cluster, policy, binding);
COMMENT ON VIEW vapshadow.v_coverage IS 'Of the evaluations whose match constraints matched, how many could be decided: matched = decided_exact + decided_presumed + decided_otherwise + unknown.';
COMMENT ON COLUMN vapshadow.v_coverage.decided_exact IS 'Decided on what the log proves.';
COMMENT ON COLUMN vapshadow.v_coverage.decided_presumed IS 'Decided on the best reconstruction, which nothing contradicts.';
COMMENT ON COLUMN vapshadow.v_coverage.decided_otherwise IS 'Decided although an input is missing: whatever it was, it could not have changed the result.';
COMMENT ON COLUMN vapshadow.v_coverage.unknown_by_reason IS 'A JSON object: how many are unknown for which reason.';

CREATE VIEW vapshadow.v_ledger AS
SELECT source, partition, ingested, evaluated, not_admission, skipped, dead_lettered, requests,
    ingested - evaluated - not_admission - skipped - dead_lettered AS difference
FROM (
    SELECT source, partition,
        coalesce(sum(count) FILTER (WHERE outcome = 'Ingested'), 0)::bigint AS ingested,
        coalesce(sum(count) FILTER (WHERE outcome = 'Evaluated'), 0)::bigint AS evaluated,
        coalesce(sum(count) FILTER (WHERE outcome = 'NotAdmission'), 0)::bigint AS not_admission,
        coalesce(sum(count) FILTER (WHERE outcome = 'Skipped'), 0)::bigint AS skipped,
        coalesce(sum(count) FILTER (WHERE outcome = 'DeadLettered'), 0)::bigint AS dead_lettered,
        coalesce(sum(count) FILTER (WHERE outcome = 'Requests'), 0)::bigint AS requests
    FROM vapshadow.ledger
    GROUP BY source, partition
) AS totals;
COMMENT ON VIEW vapshadow.v_ledger IS 'What became of all that was ingested, for all time: ingested = evaluated + not_admission + skipped + dead_lettered.';
COMMENT ON COLUMN vapshadow.v_ledger.difference IS 'What the law does not account for. Anything but 0 is a defect.';
COMMENT ON COLUMN vapshadow.v_ledger.requests IS 'The admission requests that the evaluated events came to: one an event, but for deletecollection.';

CREATE VIEW vapshadow.v_ledger_lines AS
SELECT source, partition, cluster, outcome, reason, count FROM vapshadow.ledger;
COMMENT ON VIEW vapshadow.v_ledger_lines IS 'v_ledger by cluster and reason.';

CREATE VIEW vapshadow.v_dead_letters AS
SELECT at, cluster, source, partition, mark_generation, mark_offset, mark_detail, n, delivery, reason, detail
FROM vapshadow.dead_letters;
COMMENT ON VIEW vapshadow.v_dead_letters IS 'Where the pieces of input are that may have been events and could not be used. Nothing of what is in them is kept.';

CREATE VIEW vapshadow.v_policies AS
SELECT cluster, kind, name, hash, text FROM vapshadow.policies;
COMMENT ON VIEW vapshadow.v_policies IS 'The policies and bindings as they were evaluated; the hashes of other views name them.';

CREATE VIEW vapshadow.v_positions AS
SELECT source, partition, generation, "offset", event_time, updated_at FROM vapshadow.positions;
COMMENT ON VIEW vapshadow.v_positions IS 'How far each partition of each source has been stored.';
COMMENT ON COLUMN vapshadow.v_positions.event_time IS 'The latest time of an event that was stored.';

CREATE VIEW vapshadow.v_schema AS
SELECT coalesce(max(version_id), 0)::bigint AS version FROM vapshadow.schema_migrations WHERE is_applied;
COMMENT ON VIEW vapshadow.v_schema IS 'The version of this schema.';

-- +goose Down
DROP VIEW vapshadow.v_schema, vapshadow.v_positions, vapshadow.v_policies, vapshadow.v_dead_letters, vapshadow.v_ledger_lines,
    vapshadow.v_ledger, vapshadow.v_coverage, vapshadow.v_coverage_daily, vapshadow.v_rollups_daily,
    vapshadow.v_rollups_hourly, vapshadow.v_rollups, vapshadow.v_annotations, vapshadow.v_failures;
