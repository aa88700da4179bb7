-- The spine: runs, activities, timers, history, and what a commit leaves behind.
-- Times are whole microseconds, payloads JSON text, keys numbers that are never given twice.

CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('numbers', 1), ('instances', 0);

CREATE TABLE namespace (
  name       TEXT PRIMARY KEY,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO namespace (name, created_at) VALUES ('main', 0);

CREATE TABLE run (
  no                INTEGER PRIMARY KEY,
  id                TEXT NOT NULL UNIQUE,
  run_id            TEXT NOT NULL,
  namespace         TEXT NOT NULL,
  type              TEXT NOT NULL,
  status            TEXT NOT NULL,
  created_at        INTEGER NOT NULL,
  updated_at        INTEGER NOT NULL,
  start_at          INTEGER NOT NULL,
  ver               INTEGER NOT NULL,
  last_seq          INTEGER NOT NULL,
  top_activity      INTEGER NOT NULL,
  top_timer         INTEGER NOT NULL,
  parent_no         INTEGER,
  parent_id         TEXT,
  child_id          TEXT,
  search_attributes TEXT,
  error             TEXT,
  result_seq        INTEGER,
  completed_at      INTEGER,
  timeout_secs      REAL,
  timeout_at        INTEGER,
  cancel_seq        INTEGER,
  cascade           TEXT,
  waits             TEXT,
  archived_at       INTEGER,
  archive_uri       TEXT,
  queue             TEXT NOT NULL,
  priority          INTEGER NOT NULL,
  ready_at          INTEGER,
  attempt           INTEGER NOT NULL,
  blocked           TEXT,
  claim_token       INTEGER,
  claimed_by        TEXT,
  claim_until       INTEGER,
  claim_seq         INTEGER NOT NULL,
  claimed_ready_at  INTEGER,
  expired_claimers  TEXT
);

-- Ready runs by queue. Only runs that were not handed over in the commit that made them ready get here.
CREATE INDEX run_ready ON run (queue, ready_at, no) WHERE ready_at IS NOT NULL;
CREATE INDEX run_children ON run (parent_no, no) WHERE parent_no IS NOT NULL;
CREATE INDEX run_claimed ON run (no) WHERE claim_until IS NOT NULL;
CREATE INDEX run_cascading ON run (no) WHERE cascade IS NOT NULL;

CREATE TABLE activity (
  no                     INTEGER PRIMARY KEY,
  run_no                 INTEGER NOT NULL,
  seq                    INTEGER NOT NULL,
  name                   TEXT NOT NULL,
  status                 TEXT NOT NULL,
  max_attempts           INTEGER NOT NULL,
  initial_interval_secs  REAL NOT NULL,
  backoff_coefficient    REAL NOT NULL,
  start_to_close_secs    REAL NOT NULL,
  heartbeat_timeout_secs REAL,
  scheduled_seq          INTEGER NOT NULL,
  wanted_seq             INTEGER NOT NULL,
  scheduled_at           INTEGER NOT NULL,
  ver                    INTEGER NOT NULL,
  outcome_seq            INTEGER,
  late_outcome           TEXT,
  error                  TEXT,
  started_at             INTEGER,
  completed_at           INTEGER,
  last_heartbeat         INTEGER,
  details                TEXT,
  queue                  TEXT NOT NULL,
  namespace              TEXT NOT NULL,
  priority               INTEGER NOT NULL,
  ready_at               INTEGER,
  attempt                INTEGER NOT NULL,
  claim_token            INTEGER,
  claimed_by             TEXT,
  claim_until            INTEGER,
  UNIQUE (run_no, seq)
);

CREATE INDEX activity_ready ON activity (queue, ready_at, no) WHERE ready_at IS NOT NULL;
CREATE INDEX activity_claimed ON activity (no) WHERE claim_until IS NOT NULL;

CREATE TABLE timer (
  no            INTEGER PRIMARY KEY,
  run_no        INTEGER NOT NULL,
  seq           INTEGER NOT NULL,
  fire_at       INTEGER NOT NULL,
  scheduled_seq INTEGER NOT NULL,
  state         TEXT NOT NULL,
  silenced_at   INTEGER,
  silenced_seq  INTEGER,
  ver           INTEGER NOT NULL,
  UNIQUE (run_no, seq)
);

CREATE INDEX timer_due ON timer (fire_at, no) WHERE state = 'open';

-- History. `voided_by` is the seq of the operator retry that took the event back; codec 0 is plain JSON.
CREATE TABLE event (
  run_no    INTEGER NOT NULL,
  seq       INTEGER NOT NULL,
  id        INTEGER NOT NULL,
  type      TEXT NOT NULL,
  at        INTEGER NOT NULL,
  payload   TEXT,
  voided_by INTEGER,
  codec     INTEGER NOT NULL DEFAULT 0,
  attrs     TEXT,
  PRIMARY KEY (run_no, seq)
) WITHOUT ROWID;

-- One row per commit: whether a commit whose answer was lost is in, and how late it ever was.
CREATE TABLE batch (
  instance INTEGER NOT NULL,
  no       INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  PRIMARY KEY (instance, no)
) WITHOUT ROWID;

CREATE TABLE worker (
  id             TEXT PRIMARY KEY,
  namespace      TEXT NOT NULL,
  identity       TEXT NOT NULL,
  queue          TEXT NOT NULL,
  workflows      TEXT,
  activities     TEXT,
  max_workflows  INTEGER NOT NULL,
  max_activities INTEGER NOT NULL,
  registered_at  INTEGER NOT NULL,
  last_seen      INTEGER NOT NULL
) WITHOUT ROWID;
