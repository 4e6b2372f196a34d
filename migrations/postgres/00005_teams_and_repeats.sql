-- +goose Up

-- The team that a namespace belongs to, and whether a failure is one that the object had before the update. Rows of
-- before say neither.
ALTER TABLE vapshadow.failures ADD COLUMN team text NOT NULL DEFAULT '', ADD COLUMN repeats boolean NOT NULL DEFAULT false;
ALTER TABLE vapshadow.rollups ADD COLUMN team text NOT NULL DEFAULT '';

-- A view that is replaced keeps who may read it.
CREATE OR REPLACE VIEW vapshadow.v_failures AS
SELECT stage_timestamp, cluster, audit_id, item, operation, api_group, api_version, resource, sub_resource, kind, namespace,
    name, owner_kind, owner_name, username, user_groups, user_agent, dry_run, code, policy, binding, params_namespace,
    params_name, policy_hash, binding_hash, param_hash, validation_actions, expression_index, n, result, message, reason,
    ignored, unknown_attributes, because, evidence, effect, blocks_anyway, team, repeats
FROM vapshadow.failures;
COMMENT ON COLUMN vapshadow.v_failures.team IS 'The team label of the namespace at the time; empty where it has none, or where the namespace is not known.';
COMMENT ON COLUMN vapshadow.v_failures.repeats IS 'The object failed so before the update, which left what the failure hangs on as it was.';

CREATE OR REPLACE VIEW vapshadow.v_rollups AS
SELECT minute, cluster, policy, binding, policy_hash, binding_hash, namespace, api_group, resource, sub_resource, operation,
    result, evidence, because, effect, blocks_anyway, count, team
FROM vapshadow.rollups;
COMMENT ON COLUMN vapshadow.v_rollups.team IS 'The team label of the namespace at the time; empty where it has none, or where the namespace is not known.';

CREATE OR REPLACE VIEW vapshadow.v_rollups_hourly AS
SELECT date_trunc('hour', minute, 'UTC') AS hour, cluster, policy, binding, namespace, api_group, resource, sub_resource, operation,
    result, evidence, because, effect, blocks_anyway, sum(count)::bigint AS count, team
FROM vapshadow.rollups
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16;

CREATE OR REPLACE VIEW vapshadow.v_rollups_daily AS
SELECT date_trunc('day', minute, 'UTC') AS day, cluster, policy, binding, namespace, api_group, resource, sub_resource, operation,
    result, evidence, because, effect, blocks_anyway, sum(count)::bigint AS count, team
FROM vapshadow.rollups
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16;

-- +goose Down

-- Who may read the views has to be said again: they are made anew.
DROP VIEW vapshadow.v_rollups_daily, vapshadow.v_rollups_hourly, vapshadow.v_rollups, vapshadow.v_failures;
ALTER TABLE vapshadow.rollups DROP COLUMN team;
ALTER TABLE vapshadow.failures DROP COLUMN team, DROP COLUMN repeats;

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
