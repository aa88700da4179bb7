-- The whole contract: schedules, snapshots, search attributes, namespaces' counts, the event stream.

ALTER TABLE run ADD COLUMN top_side_effect INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN top_step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN top_upsert INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN patches INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN lost_children INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN successor_no INTEGER;

-- Lists go newest first: through the runs of a status, or of a type and a status, merging all
-- statuses where none is named.
CREATE INDEX run_by_status ON run (namespace, status, created_at DESC, id);
CREATE INDEX run_by_type ON run 
  (namespace, (status || ' ' || substr(type, 1, 100)), created_at DESC, id, type);

-- Who claimed a run last, once it has ended: until then that changes at every step.
ALTER TABLE run ADD COLUMN ended_by TEXT
  GENERATED ALWAYS AS (CASE WHEN completed_at IS NOT NULL THEN substr(claimed_by, 1, 100) END) VIRTUAL;
CREATE INDEX run_by_claimer ON run (namespace, ended_by, created_at DESC, id)
  WHERE ended_by IS NOT NULL;

CREATE INDEX run_timeout ON run (timeout_at, no) WHERE timeout_at IS NOT NULL AND completed_at IS NULL;
CREATE INDEX run_blocked ON run (queue, no) WHERE blocked IS NOT NULL;

-- Which queues a namespace's activities name, and how many wait or run there.
CREATE INDEX activity_queue ON activity (namespace, queue, status);

-- Who of a namespace, and of a queue, was heard of since a moment.
CREATE INDEX worker_seen ON worker (namespace, queue, last_seen);

-- Since when `main` is there was not kept: since now, or since its oldest run.
UPDATE namespace SET created_at =
  coalesce((SELECT min(created_at) FROM run), CAST(unixepoch('subsec') * 1000000 AS INTEGER))
WHERE name = 'main' AND created_at = 0;

CREATE TABLE schedule (
  no               INTEGER PRIMARY KEY,
  namespace        TEXT NOT NULL,
  name             TEXT NOT NULL,
  type             TEXT NOT NULL,
  cron             TEXT NOT NULL,
  timezone         TEXT NOT NULL,
  input            TEXT,
  queue            TEXT NOT NULL,
  overlap          TEXT NOT NULL,
  paused           INTEGER NOT NULL,
  created_at       INTEGER NOT NULL,
  ver              INTEGER NOT NULL,
  next_run_at      INTEGER,
  last_run_at      INTEGER,
  last_run_no      INTEGER,
  last_workflow_id TEXT,
  queued_start     INTEGER,
  UNIQUE (namespace, name)
);

CREATE INDEX schedule_due ON schedule (next_run_at, no) WHERE NOT paused AND next_run_at IS NOT NULL;
CREATE INDEX schedule_queued ON schedule (queued_start, no)
  WHERE NOT paused AND queued_start IS NOT NULL;

-- The newest snapshot of a run.
CREATE TABLE snapshot (
  run_no     INTEGER PRIMARY KEY,
  event_seq  INTEGER NOT NULL,
  state      TEXT NOT NULL,
  created_at INTEGER NOT NULL
);

-- The look-up behind the search filter; `value` is canonical JSON, or the digest of a long one.
CREATE TABLE attribute (
  namespace  TEXT NOT NULL,
  key        TEXT NOT NULL,
  value      TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  run_no     INTEGER NOT NULL,
  PRIMARY KEY (namespace, key, value, created_at DESC, run_no)
) WITHOUT ROWID;

-- Signals that came with an id of their sender's.
CREATE TABLE signal_request (
  run_no     INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  PRIMARY KEY (run_no, request_id)
) WITHOUT ROWID;

-- How many runs a namespace has in each status.
CREATE TABLE run_count (
  namespace TEXT NOT NULL,
  status    TEXT NOT NULL,
  runs      INTEGER NOT NULL,
  PRIMARY KEY (namespace, status)
) WITHOUT ROWID;

INSERT INTO run_count (namespace, status, runs)
SELECT namespace, status, count(*) FROM run GROUP BY namespace, status;

-- The event stream: the frames of one commit a row, numbered up to `last` without a gap.
CREATE TABLE stream (
  last   INTEGER PRIMARY KEY,
  size   INTEGER NOT NULL,
  at     INTEGER NOT NULL,
  frames TEXT NOT NULL
);

-- Up to which number frames were pruned.
INSERT INTO meta (name, value) VALUES ('stream_pruned', 0);

-- Work that comes round: whoever moves a row on does it.
CREATE TABLE chore (
  name   TEXT PRIMARY KEY,
  due_at INTEGER NOT NULL,
  ver    INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO chore (name, due_at, ver) VALUES ('prune_stream', 0, 0);
