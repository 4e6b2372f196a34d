-- +goose Up

-- Tables that grow with the log are partitioned by day (UTC). The functions here make and drop the days. They run with
-- the rights of the role that owns the tables (SECURITY DEFINER), so that the role that writes rows need not be allowed
-- to create or drop anything.
--
-- Log times can be nonsense. What is before 2014, when there was no Kubernetes, or after 2099 goes to two partitions at
-- the ends, so that such times neither fail a batch nor make a partition each.

-- +goose StatementBegin
DO $$
DECLARE
    parent text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['failures', 'annotations', 'rollups'] LOOP
        EXECUTE format($f$CREATE TABLE vapshadow.%I PARTITION OF vapshadow.%I
            FOR VALUES FROM (MINVALUE) TO ('2014-01-01 00:00:00+00')$f$, parent || '_before_2014', parent);
        EXECUTE format($f$CREATE TABLE vapshadow.%I PARTITION OF vapshadow.%I
            FOR VALUES FROM ('2100-01-01 00:00:00+00') TO (MAXVALUE)$f$, parent || '_from_2100', parent);
    END LOOP;
END
$$;
-- +goose StatementEnd

-- ensure_days makes the partitions of some days, where they are not there yet.
--
-- A new partition is made on its own and then attached: that lets others write to the table meanwhile, which CREATE
-- TABLE … PARTITION OF does not. The lock keeps two callers from making one partition, and from waiting for each other.
-- +goose StatementBegin
CREATE FUNCTION vapshadow.ensure_days(days date[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parent text;
    day    date;
    child  text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('vapshadow.days'));
    FOREACH parent IN ARRAY ARRAY['failures', 'annotations', 'rollups'] LOOP
        FOR day IN SELECT DISTINCT d FROM unnest(days) AS d ORDER BY d LOOP
            CONTINUE WHEN day < '2014-01-01' OR day >= '2100-01-01';
            child := parent || to_char(day, '_YYYYMMDD');
            CONTINUE WHEN to_regclass('vapshadow.' || child) IS NOT NULL;
            EXECUTE format('CREATE TABLE vapshadow.%I (LIKE vapshadow.%I INCLUDING ALL)', child, parent);
            EXECUTE format('ALTER TABLE vapshadow.%I ATTACH PARTITION vapshadow.%I FOR VALUES FROM (%L) TO (%L)', parent, child,
                to_char(day, 'YYYY-MM-DD 00:00:00+00'), to_char(day + 1, 'YYYY-MM-DD 00:00:00+00'));
        END LOOP;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- days_before lists the partitions whose days all ended before a day begins, oldest first.
-- +goose StatementBegin
CREATE FUNCTION vapshadow.days_before(first_kept date) RETURNS TABLE (parent text, child text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT p.relname::text, c.relname::text
    FROM pg_inherits i
    JOIN pg_class p ON p.oid = i.inhparent
    JOIN pg_class c ON c.oid = i.inhrelid
    WHERE p.relnamespace = 'vapshadow'::regnamespace AND p.relkind = 'p'
      AND c.relname ~ '_[0-9]{8}$' AND right(c.relname, 8) < to_char(first_kept, 'YYYYMMDD')
    ORDER BY right(c.relname, 8), p.relname
$$;
-- +goose StatementEnd

-- drop_day drops one partition that days_before lists. It waits for a second at most for those who read or write the
-- table, since whoever comes meanwhile waits behind it; 55P03 says that it was not enough.
-- +goose StatementBegin
CREATE FUNCTION vapshadow.drop_day(first_kept date, day_table text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    found text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('vapshadow.days'));
    SELECT d.child INTO found FROM vapshadow.days_before(first_kept) AS d WHERE d.child = day_table;
    IF found IS NOT NULL THEN
        EXECUTE format('DROP TABLE vapshadow.%I', found);
    END IF;
END
$$;
-- +goose StatementEnd

-- drop_outliers deletes old rows from the partitions at the ends.
-- +goose StatementBegin
CREATE FUNCTION vapshadow.drop_outliers(first_kept date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    cutoff timestamptz := first_kept::timestamp AT TIME ZONE 'UTC';
BEGIN
    DELETE FROM vapshadow.failures_before_2014 WHERE stage_timestamp < cutoff;
    DELETE FROM vapshadow.failures_from_2100 WHERE stage_timestamp < cutoff;
    DELETE FROM vapshadow.annotations_before_2014 WHERE stage_timestamp < cutoff;
    DELETE FROM vapshadow.annotations_from_2100 WHERE stage_timestamp < cutoff;
    DELETE FROM vapshadow.rollups_before_2014 WHERE minute < cutoff;
    DELETE FROM vapshadow.rollups_from_2100 WHERE minute < cutoff;
END
$$;
-- +goose StatementEnd

REVOKE ALL ON FUNCTION vapshadow.ensure_days(date[]), vapshadow.days_before(date), vapshadow.drop_day(date, text),
    vapshadow.drop_outliers(date) FROM PUBLIC;

-- +goose Down
DROP FUNCTION vapshadow.drop_outliers(date), vapshadow.drop_day(date, text), vapshadow.days_before(date),
    vapshadow.ensure_days(date[]);
DROP TABLE vapshadow.failures_before_2014, vapshadow.failures_from_2100, vapshadow.annotations_before_2014,
    vapshadow.annotations_from_2100, vapshadow.rollups_before_2014, vapshadow.rollups_from_2100;
