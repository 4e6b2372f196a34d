-- +goose Up

-- Every table is told apart by a digest of what makes a row unique (row_key): names from a log may be longer than an
-- index can hold.

CREATE TABLE vapshadow.failures (
    stage_timestamp    timestamptz NOT NULL,
    row_key            bytea       NOT NULL,
    cluster            text        NOT NULL,
    audit_id           text        NOT NULL,
    item               integer     NOT NULL,
    operation          text        NOT NULL,
    api_group          text        NOT NULL,
    api_version        text        NOT NULL,
    resource           text        NOT NULL,
    sub_resource       text        NOT NULL,
    kind               text        NOT NULL,
    namespace          text        NOT NULL,
    name               text        NOT NULL,
    owner_kind         text        NOT NULL,
    owner_name         text        NOT NULL,
    username           text        NOT NULL,
    user_groups        text[]      NOT NULL,
    user_agent         text        NOT NULL,
    dry_run            boolean     NOT NULL,
    code               integer     NOT NULL,
    policy             text        NOT NULL,
    binding            text        NOT NULL,
    params_namespace   text        NOT NULL,
    params_name        text        NOT NULL,
    policy_hash        text        NOT NULL,
    binding_hash       text        NOT NULL,
    param_hash         text        NOT NULL,
    validation_actions text[]      NOT NULL,
    expression_index   integer     NOT NULL,
    n                  integer     NOT NULL,
    result             text        NOT NULL,
    message            text        NOT NULL,
    reason             text        NOT NULL,
    ignored            boolean     NOT NULL,
    unknown_attributes text[]      NOT NULL,
    because            text        NOT NULL,
    evidence           text        NOT NULL,
    effect             text        NOT NULL,
    blocks_anyway      boolean     NOT NULL,
    PRIMARY KEY (stage_timestamp, row_key)
) PARTITION BY RANGE (stage_timestamp);
CREATE INDEX failures_by_policy ON vapshadow.failures (cluster, policy, binding, stage_timestamp);
CREATE INDEX failures_by_namespace ON vapshadow.failures (namespace, stage_timestamp);
CREATE INDEX failures_by_audit_id ON vapshadow.failures (audit_id);

CREATE TABLE vapshadow.annotations (
    stage_timestamp  timestamptz NOT NULL,
    row_key          bytea       NOT NULL,
    cluster          text        NOT NULL,
    audit_id         text        NOT NULL,
    item             integer     NOT NULL,
    annotation_key   text        NOT NULL,
    annotation_value text        NOT NULL,
    PRIMARY KEY (stage_timestamp, row_key)
) PARTITION BY RANGE (stage_timestamp);
CREATE INDEX annotations_by_audit_id ON vapshadow.annotations (audit_id);

CREATE TABLE vapshadow.rollups (
    minute        timestamptz NOT NULL,
    row_key       bytea       NOT NULL,
    cluster       text        NOT NULL,
    policy        text        NOT NULL,
    binding       text        NOT NULL,
    policy_hash   text        NOT NULL,
    binding_hash  text        NOT NULL,
    namespace     text        NOT NULL,
    api_group     text        NOT NULL,
    resource      text        NOT NULL,
    sub_resource  text        NOT NULL,
    operation     text        NOT NULL,
    result        text        NOT NULL,
    evidence      text        NOT NULL,
    because       text        NOT NULL,
    effect        text        NOT NULL,
    blocks_anyway boolean     NOT NULL,
    count         bigint      NOT NULL,
    PRIMARY KEY (minute, row_key)
) PARTITION BY RANGE (minute);
CREATE INDEX rollups_by_policy ON vapshadow.rollups (cluster, policy, binding, minute);
CREATE INDEX rollups_by_namespace ON vapshadow.rollups (namespace, minute);

-- Rows that are updated again and again: room on each page keeps the updates out of the indexes.
CREATE TABLE vapshadow.ledger (
    row_key   bytea  PRIMARY KEY,
    source    text   NOT NULL,
    partition text   NOT NULL,
    cluster   text   NOT NULL,
    outcome   text   NOT NULL,
    reason    text   NOT NULL,
    count     bigint NOT NULL
) WITH (fillfactor = 50);

-- What names a place in a source is kept byte for byte: a path need not be UTF-8. The columns of type text are for people.
CREATE TABLE vapshadow.positions (
    row_key         bytea       PRIMARY KEY,
    source          text        NOT NULL,
    partition       text        NOT NULL,
    source_bytes    bytea       NOT NULL,
    partition_bytes bytea       NOT NULL,
    generation      bigint      NOT NULL,
    "offset"        bigint      NOT NULL,
    detail          bytea       NOT NULL,
    event_time      timestamptz,
    updated_at      timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

CREATE TABLE vapshadow.deliveries (
    row_key   bytea       PRIMARY KEY,
    stored_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX deliveries_by_time ON vapshadow.deliveries (stored_at);

CREATE TABLE vapshadow.dead_letters (
    row_key         bytea       PRIMARY KEY,
    at              timestamptz NOT NULL,
    cluster         text        NOT NULL,
    source          text        NOT NULL,
    partition       text        NOT NULL,
    mark_generation bigint      NOT NULL,
    mark_offset     bigint      NOT NULL,
    mark_detail     text        NOT NULL,
    n               integer     NOT NULL,
    delivery        text        NOT NULL,
    reason          text        NOT NULL,
    detail          text        NOT NULL
);
CREATE INDEX dead_letters_by_time ON vapshadow.dead_letters (at);

CREATE TABLE vapshadow.policies (
    row_key bytea PRIMARY KEY,
    cluster text  NOT NULL,
    kind    text  NOT NULL,
    name    text  NOT NULL,
    hash    text  NOT NULL,
    text    text  NOT NULL
);

CREATE TABLE vapshadow.checkpoints (
    id      bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name    bytea       NOT NULL,
    marks   bytea       NOT NULL,
    written timestamptz NOT NULL
);
CREATE INDEX checkpoints_by_name ON vapshadow.checkpoints (name, id);

-- A checkpoint's content in pieces of 1 MiB at most, so that neither side holds all of it.
CREATE TABLE vapshadow.checkpoint_chunks (
    checkpoint_id bigint  NOT NULL REFERENCES vapshadow.checkpoints ON DELETE CASCADE,
    n             integer NOT NULL,
    content       bytea   NOT NULL,
    PRIMARY KEY (checkpoint_id, n)
);
-- It is compressed already.
ALTER TABLE vapshadow.checkpoint_chunks ALTER COLUMN content SET STORAGE EXTERNAL;

-- +goose Down
DROP TABLE vapshadow.checkpoint_chunks, vapshadow.checkpoints, vapshadow.policies, vapshadow.dead_letters,
    vapshadow.deliveries, vapshadow.positions, vapshadow.ledger, vapshadow.rollups, vapshadow.annotations,
    vapshadow.failures;
