-- What the Python SDK adds: live runs that workers keep, options of activities, failed attempts.

-- The claim under which a worker saw the history up to `claim_seq`, and keeps the run alive.
ALTER TABLE run ADD COLUMN kept_token INTEGER;

-- Who had claimed it before: an undone claim leaves no trace.
ALTER TABLE run ADD COLUMN claimed_before TEXT;

-- Options of an activity: the longest delay, the share of it that chance may take away, and the types
-- of failure that end it at once, a JSON list.
ALTER TABLE activity ADD COLUMN max_interval_secs REAL;
ALTER TABLE activity ADD COLUMN jitter REAL NOT NULL DEFAULT 0;
ALTER TABLE activity ADD COLUMN non_retryable TEXT;

-- Attempts that failed, by run: they go with it.
CREATE TABLE attempt (
  run_no      INTEGER NOT NULL,
  activity_no INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,
  worker      TEXT,
  started_at  INTEGER NOT NULL,
  ended_at    INTEGER NOT NULL,
  error       TEXT NOT NULL,
  failure     TEXT,
  PRIMARY KEY (run_no, activity_no, attempt)
) WITHOUT ROWID;

-- The latest cancel request, and the run whose request came down to this one last. A cascade under
-- way goes on as one that began at each run it had reached.
ALTER TABLE run ADD COLUMN last_cancel_seq INTEGER;
ALTER TABLE run ADD COLUMN asked_by INTEGER;
UPDATE run SET last_cancel_seq = cancel_seq, asked_by = no WHERE cancel_seq IS NOT NULL;

-- Of expired claims that are unanswered, how far their workers had seen the history: nobody knows.
UPDATE run SET expired_claimers =
  (SELECT json_group_array(json_array(value, 0)) FROM json_each(expired_claimers))
WHERE expired_claimers IS NOT NULL;
