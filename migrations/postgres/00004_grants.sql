-- +goose Up

-- Three roles: who runs the migrations owns everything; a writer runs vapshadow; a reader sees the views and nothing
-- else. These functions run with the rights of who calls them, and are to be called by the owner, again after each
-- migration:
--
--     SELECT vapshadow.grant_writer('vapshadow_writer');
--     SELECT vapshadow.grant_reader('grafana');

-- +goose StatementBegin
CREATE FUNCTION vapshadow.grant_reader(role name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    seen text;
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA vapshadow TO %I', role);
    FOR seen IN SELECT viewname FROM pg_views WHERE schemaname = 'vapshadow' LOOP
        EXECUTE format('GRANT SELECT ON vapshadow.%I TO %I', seen, role);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION vapshadow.grant_writer(role name) RETURNS void
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

REVOKE ALL ON FUNCTION vapshadow.grant_reader(name), vapshadow.grant_writer(name) FROM PUBLIC;

-- +goose Down
DROP FUNCTION vapshadow.grant_writer(name), vapshadow.grant_reader(name);
