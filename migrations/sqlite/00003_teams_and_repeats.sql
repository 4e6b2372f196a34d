-- +goose Up

-- The team that a namespace belongs to, and whether a failure is one that the object had before the update. Rows of
-- before say neither.
DROP VIEW v_rollups_daily;
DROP VIEW v_rollups_hourly;
DROP VIEW v_rollups;
DROP VIEW v_failures;
ALTER TABLE failures ADD COLUMN team TEXT NOT NULL DEFAULT '';
ALTER TABLE failures ADD COLUMN repeats INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN team TEXT NOT NULL DEFAULT '';

CREATE VIEW v_failures AS
SELECT stage_timestamp, cluster, audit_id, item, operation, api_group, api_version, resource, sub_resource, kind, namespace,
    name, owner_kind, owner_name, username, user_groups, user_agent, dry_run, code, policy, binding, params_namespace,
    params_name, policy_hash, binding_hash, param_hash, validation_actions, expression_index, n, result, message, reason,
    ignored, unknown_attributes, because, evidence, effect, blocks_anyway, team, repeats
FROM failures;

CREATE VIEW v_rollups AS
SELECT minute, cluster, policy, binding, policy_hash, binding_hash, namespace, api_group, resource, sub_resource, operation,
    result, evidence, because, effect, blocks_anyway, count, team
FROM rollups;

CREATE VIEW v_rollups_hourly AS
SELECT substr(minute, 1, 13) || ':00:00.000000Z' AS hour, cluster, policy, binding, namespace, api_group, resource, sub_resource, operation,
    result, evidence, because, effect, blocks_anyway, sum(count) AS count, team
FROM rollups
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16;

CREATE VIEW v_rollups_daily AS
SELECT substr(minute, 1, 10) || 'T00:00:00.000000Z' AS day, cluster, policy, binding, namespace, api_group, resource, sub_resource, operation,
    result, evidence, because, effect, blocks_anyway, sum(count) AS count, team
FROM rollups
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16;

-- +goose Down
DROP VIEW v_rollups_daily;
DROP VIEW v_rollups_hourly;
DROP VIEW v_rollups;
DROP VIEW v_failures;
ALTER TABLE rollups DROP COLUMN team;
ALTER TABLE failures DROP COLUMN repeats;
ALTER TABLE failures DROP COLUMN team;

CREATE VIEW v_failures AS
SELECT stage_timestamp, cluster, audit_id, item, operation, api_group, api_version, resource, sub_resource, kind, namespace,
    name, owner_kind, owner_name, username, user_groups, user_agent, dry_run, code, policy, binding, params_namespace,
    params_name, policy_hash, binding_hash, param_hash, validation_actions, expression_index, n, result, message, reason,
    ignored, unknown_attributes, because, evidence, effect, blocks_anyway
FROM failures;

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
