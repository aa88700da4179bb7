-- The spine: runs, activities, timers, history, and what a commit leaves behind.
-- Times are whole microseconds, payloads JSON text, keys numbers that are never given twice.
--
-- There is no index on what every step changes (claims, versions, sequence numbers): with none of
-- their columns indexed, updates stay on their page and touch no index at all
-- (tests/stores/test_plans.py). Pages of rows that are updated often keep room for that. What is
-- open has indexes that it leaves once, at its end: a tenth more work for an activity, and in return
-- neither a load nor a start reads what is long over.

CREATE TABLE meta (
  name  text PRIMARY KEY,
  value bigint NOT NULL
);

INSERT INTO meta (name, value) VALUES ('numbers', 1), ('instances', 0);

CREATE TABLE namespace (
  name       text PRIMARY KEY,
  created_at bigint NOT NULL
);

INSERT INTO namespace (name, created_at) VALUES ('main', 0);

CREATE TABLE run (
  no                bigint PRIMARY KEY,
  id                text NOT NULL UNIQUE,
  run_id            text NOT NULL,
  namespace         text NOT NULL,
  type              text NOT NULL,
  status            text NOT NULL,
  created_at        bigint NOT NULL,
  updated_at        bigint NOT NULL,
  start_at          bigint NOT NULL,
  ver               bigint NOT NULL,
  last_seq          bigint NOT NULL,
  top_activity      bigint NOT NULL,
  top_timer         bigint NOT NULL,
  parent_no         bigint,
  parent_id         text,
  child_id          text,
  search_attributes text,
  error             text,
  result_seq        bigint,
  completed_at      bigint,
  timeout_secs      double precision,
  timeout_at        bigint,
  cancel_seq        bigint,
  cascade           text,
  waits             text,
  archived_at       bigint,
  archive_uri       text,
  queue             text NOT NULL,
  priority          bigint NOT NULL,
  ready_at          bigint,
  attempt           bigint NOT NULL,
  blocked           text,
  claim_token       bigint,
  claimed_by        text,
  claim_until       bigint,
  claim_seq         bigint NOT NULL,
  claimed_ready_at  bigint,
  expired_claimers  text
) WITH (fillfactor = 70);

-- Ready runs by queue. Only runs that were not handed over in the commit that made them ready get here.
CREATE INDEX run_ready ON run (queue, ready_at, no) WHERE ready_at IS NOT NULL;
CREATE INDEX run_children ON run (parent_no, no) WHERE parent_no IS NOT NULL;
CREATE INDEX run_open ON run (no) WHERE completed_at IS NULL;
CREATE INDEX run_cascading ON run (no) WHERE cascade IS NOT NULL;

CREATE TABLE activity (
  no                     bigint PRIMARY KEY,
  run_no                 bigint NOT NULL,
  seq                    bigint NOT NULL,
  name                   text NOT NULL,
  status                 text NOT NULL,
  max_attempts           bigint NOT NULL,
  initial_interval_secs  double precision NOT NULL,
  backoff_coefficient    double precision NOT NULL,
  start_to_close_secs    double precision NOT NULL,
  heartbeat_timeout_secs double precision,
  scheduled_seq          bigint NOT NULL,
  wanted_seq             bigint NOT NULL,
  scheduled_at           bigint NOT NULL,
  ver                    bigint NOT NULL,
  outcome_seq            bigint,
  late_outcome           text,
  error                  text,
  started_at             bigint,
  completed_at           bigint,
  last_heartbeat         bigint,
  details                text,
  queue                  text NOT NULL,
  namespace              text NOT NULL,
  priority               bigint NOT NULL,
  ready_at               bigint,
  attempt                bigint NOT NULL,
  claim_token            bigint,
  claimed_by             text,
  claim_until            bigint,
  UNIQUE (run_no, seq)
) WITH (fillfactor = 80);

CREATE INDEX activity_ready ON activity (queue, ready_at, no) WHERE ready_at IS NOT NULL;
CREATE INDEX activity_open ON activity (run_no, seq) WHERE completed_at IS NULL;

CREATE TABLE timer (
  no            bigint PRIMARY KEY,
  run_no        bigint NOT NULL,
  seq           bigint NOT NULL,
  fire_at       bigint NOT NULL,
  scheduled_seq bigint NOT NULL,
  state         text NOT NULL,
  silenced_at   bigint,
  silenced_seq  bigint,
  ver           bigint NOT NULL,
  UNIQUE (run_no, seq)
);

CREATE INDEX timer_due ON timer (fire_at, no) WHERE state = 'open';
CREATE INDEX timer_open ON timer (run_no, seq) WHERE state = 'open';

-- History. `voided_by` is the seq of the operator retry that took the event back; codec 0 is plain JSON.
CREATE TABLE event (
  run_no    bigint NOT NULL,
  seq       bigint NOT NULL,
  id        bigint NOT NULL,
  type      text NOT NULL,
  at        bigint NOT NULL,
  payload   text,
  voided_by bigint,
  codec     bigint NOT NULL DEFAULT 0,
  attrs     text,
  PRIMARY KEY (run_no, seq)
);

-- One row per commit: whether a commit whose answer was lost is in, and how late it ever was.
CREATE TABLE batch (
  instance bigint NOT NULL,
  no       bigint NOT NULL,
  at       bigint NOT NULL,
  PRIMARY KEY (instance, no)
);

CREATE TABLE worker (
  id             text PRIMARY KEY,
  namespace      text NOT NULL,
  identity       text NOT NULL,
  queue          text NOT NULL,
  workflows      text,
  activities     text,
  max_workflows  bigint NOT NULL,
  max_activities bigint NOT NULL,
  registered_at  bigint NOT NULL,
  last_seen      bigint NOT NULL
);

-- Engines on this database, each with the moment until which it counts as living.
CREATE TABLE instance (
  no          bigint PRIMARY KEY,
  alive_until bigint NOT NULL
) WITH (fillfactor = 50);

-- An activity's options as they travel inside a JSON row.
CREATE TYPE retry_policy AS (
  max_attempts           bigint,
  initial_interval_secs  double precision,
  backoff_coefficient    double precision,
  start_to_close_secs    double precision,
  heartbeat_timeout_secs double precision
);

-- The guard of a commit: the statement fails as a whole when a row was not as it was thought to be.
CREATE FUNCTION assay_expect(expected bigint, changed bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF changed <> expected THEN
    RAISE EXCEPTION 'assay: % of % rows were as expected', changed, expected USING ERRCODE = 'AS001';
  END IF;
  RETURN changed;
END $$;

-- The database's clock in microseconds: all instances go by it.
CREATE FUNCTION assay_now() RETURNS bigint LANGUAGE sql
  AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;
