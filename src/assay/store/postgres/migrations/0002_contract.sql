-- The whole contract: schedules, snapshots, search attributes, namespaces' counts, the event stream.

ALTER TABLE run
  ADD COLUMN top_side_effect bigint NOT NULL DEFAULT 0,
  ADD COLUMN top_step bigint NOT NULL DEFAULT 0,
  ADD COLUMN top_upsert bigint NOT NULL DEFAULT 0,
  ADD COLUMN patches bigint NOT NULL DEFAULT 0,
  ADD COLUMN lost_children bigint NOT NULL DEFAULT 0,
  ADD COLUMN successor_no bigint,
  -- Names and ids sort by code point, whatever the database's own order is.
  ALTER COLUMN id TYPE text COLLATE "C";
ALTER TABLE namespace ALTER COLUMN name TYPE text COLLATE "C";
ALTER TABLE activity ALTER COLUMN queue TYPE text COLLATE "C";
ALTER TABLE worker ALTER COLUMN queue TYPE text COLLATE "C";

-- Lists go newest first: through the runs of a status, or of a type and a status, merging all
-- statuses where none is named. Of the columns these two change at a run's claim and at its end
-- only, when other indexes change too. An index entry has room for two long names, not for three:
-- of the third it holds the first 100 characters.
CREATE INDEX run_by_status ON run (namespace, status, created_at DESC, id) INCLUDE (no);
CREATE INDEX run_by_type ON run (namespace, (status || ' ' || substr(type, 1, 100)), created_at DESC, id);

-- Who claimed a run last, once it has ended: until then that changes at every step, and an index on
-- it would cost each one its heap-only update.
ALTER TABLE run ADD COLUMN ended_by text
  GENERATED ALWAYS AS (CASE WHEN completed_at IS NOT NULL THEN substr(claimed_by, 1, 100) END) STORED;
CREATE INDEX run_by_claimer ON run (namespace, ended_by, created_at DESC, id)
  WHERE ended_by IS NOT NULL;

CREATE INDEX run_timeout ON run (timeout_at, no) WHERE timeout_at IS NOT NULL AND completed_at IS NULL;
CREATE INDEX run_blocked ON run (queue, no) WHERE blocked IS NOT NULL;

-- Which queues a namespace's activities name, and how many wait or run there.
CREATE INDEX activity_queue ON activity (namespace, queue, status);

-- Who of a namespace, and of a queue, was heard of since a moment.
CREATE INDEX worker_seen ON worker (namespace, queue, last_seen);

-- Since when `main` is there was not kept: since now, or since its oldest run.
UPDATE namespace SET created_at = coalesce((SELECT min(created_at) FROM run), assay_now())
WHERE name = 'main' AND created_at = 0;

CREATE TABLE schedule (
  no               bigint PRIMARY KEY,
  namespace        text NOT NULL,
  name             text COLLATE "C" NOT NULL,
  type             text NOT NULL,
  cron             text NOT NULL,
  timezone         text NOT NULL,
  input            text,
  queue            text NOT NULL,
  overlap          text NOT NULL,
  paused           boolean NOT NULL,
  created_at       bigint NOT NULL,
  ver              bigint NOT NULL,
  next_run_at      bigint,
  last_run_at      bigint,
  last_run_no      bigint,
  last_workflow_id text,
  queued_start     bigint,
  UNIQUE (namespace, name)
);

CREATE INDEX schedule_due ON schedule (next_run_at, no) WHERE NOT paused AND next_run_at IS NOT NULL;
CREATE INDEX schedule_queued ON schedule (queued_start, no)
  WHERE NOT paused AND queued_start IS NOT NULL;

-- The newest snapshot of a run.
CREATE TABLE snapshot (
  run_no     bigint PRIMARY KEY,
  event_seq  bigint NOT NULL,
  state      text NOT NULL,
  created_at bigint NOT NULL
);

-- The look-up behind the search filter; `value` is canonical JSON, or the digest of a long one.
CREATE TABLE attribute (
  namespace  text NOT NULL,
  key        text NOT NULL,
  value      text NOT NULL,
  created_at bigint NOT NULL,
  run_no     bigint NOT NULL
);

CREATE UNIQUE INDEX attribute_found ON attribute (namespace, key, value, created_at DESC, run_no);

-- Signals that came with an id of their sender's.
CREATE TABLE signal_request (
  run_no     bigint NOT NULL,
  request_id text NOT NULL,
  PRIMARY KEY (run_no, request_id)
);

-- How many runs a namespace has in each status.
CREATE TABLE run_count (
  namespace text NOT NULL,
  status    text NOT NULL,
  runs      bigint NOT NULL,
  PRIMARY KEY (namespace, status)
);

INSERT INTO run_count (namespace, status, runs)
SELECT namespace, status, count(*) FROM run GROUP BY namespace, status;

-- The event stream: the frames of one commit a row, numbered up to `last` without a gap.
CREATE TABLE stream (
  last   bigint PRIMARY KEY,
  size   bigint NOT NULL,
  at     bigint NOT NULL,
  frames text NOT NULL
);

-- The last number given, and up to which number frames were pruned.
INSERT INTO meta (name, value) VALUES ('stream', 0), ('stream_pruned', 0);

-- Work that comes round: whoever moves a row on does it.
CREATE TABLE chore (
  name   text PRIMARY KEY,
  due_at bigint NOT NULL,
  ver    bigint NOT NULL
);

INSERT INTO chore (name, due_at, ver) VALUES ('prune_stream', 0, 0);

-- What a commit adds to the stream and to the counts waits on its batch row, so that commits never
-- wait for each other: `size` says how many frames, null that nothing waits. `place` goes with
-- cause and effect: a commit that rests on another one has the higher place.
ALTER TABLE batch
  ADD COLUMN place bigint GENERATED ALWAYS AS IDENTITY,
  ADD COLUMN size bigint,
  ADD COLUMN frames text,
  ADD COLUMN counts text;

CREATE INDEX batch_waiting ON batch (place) WHERE size IS NOT NULL;

-- Number the frames that wait, and fold the counts: the last number given, how many frames got
-- theirs now, and how many rows they were; nothing if another session is at it.
--
-- One call is one transaction that the database carries through by itself, whatever becomes of the
-- client in the middle of it. Each statement sees what was committed before it began, so that the
-- lock has to be had first; the counter's own row is locked besides. Numbers become visible in
-- their order, because the lock is given up only after the commit.
CREATE FUNCTION assay_number(most bigint, OUT newest bigint, OUT given bigint, OUT taken bigint)
LANGUAGE plpgsql AS $$
BEGIN
  -- "assay" in ASCII and one more: the number before it is that of migrations.
  IF NOT pg_try_advisory_xact_lock(418548769146) THEN
    RETURN;
  END IF;
  SELECT value INTO newest FROM meta WHERE name = 'stream' FOR UPDATE;
  WITH waiting AS MATERIALIZED (
    SELECT instance, no, place, batch.at, size, frames, counts FROM batch
    WHERE size IS NOT NULL ORDER BY place LIMIT most
  ),
  numbered AS (
    INSERT INTO stream (last, size, at, frames)
    SELECT newest + sum(waiting.size) OVER (ORDER BY place), waiting.size, waiting.at, waiting.frames
    FROM waiting WHERE waiting.size > 0
  ),
  folded AS (
    INSERT INTO run_count AS known (namespace, status, runs)
    SELECT delta.namespace, delta.status, sum(delta.by) FROM waiting
    CROSS JOIN json_to_recordset(waiting.counts::json)
      AS delta (namespace text, status text, by bigint)
    GROUP BY delta.namespace, delta.status ORDER BY delta.namespace, delta.status
    ON CONFLICT (namespace, status) DO UPDATE SET runs = known.runs + excluded.runs
  ),
  emptied AS (
    UPDATE batch SET size = NULL, frames = NULL, counts = NULL FROM waiting
    WHERE batch.instance = waiting.instance AND batch.no = waiting.no
  )
  SELECT coalesce(sum(waiting.size), 0), count(*) INTO given, taken FROM waiting;
  IF given > 0 THEN
    newest := newest + given;
    UPDATE meta SET value = newest WHERE name = 'stream';
  END IF;
END $$;

-- Forget frames from before `older_than`, and those beyond the newest `keep`: a few rows, the oldest
-- first, without a gap. How many frames went.
CREATE FUNCTION assay_prune_stream(older_than bigint, keep bigint, most_rows bigint, most bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  pruned bigint;
  bound bigint;
BEGIN
  SELECT value INTO pruned FROM meta WHERE name = 'stream_pruned' FOR UPDATE;
  SELECT max(oldest.last) INTO bound FROM (
    SELECT stream.last, stream.size, stream.at FROM stream ORDER BY stream.last LIMIT most_rows
  ) AS oldest
  WHERE (oldest.at < older_than
         OR oldest.last - oldest.size < (SELECT value FROM meta WHERE name = 'stream') - keep)
    AND oldest.last - oldest.size <= pruned + most;
  IF bound IS NULL THEN
    RETURN 0;
  END IF;
  DELETE FROM stream WHERE stream.last <= bound;
  UPDATE meta SET value = bound WHERE name = 'stream_pruned';
  RETURN bound - pruned;
END $$;
