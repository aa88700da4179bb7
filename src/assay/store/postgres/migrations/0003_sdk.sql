-- What the Python SDK adds: live runs that workers keep, options of activities, failed attempts.

-- The claim under which a worker saw the history up to `claim_seq`, and keeps the run alive.
ALTER TABLE run ADD COLUMN kept_token bigint;

-- Who had claimed it before: an undone claim leaves no trace.
ALTER TABLE run ADD COLUMN claimed_before text;

-- Options of an activity: the longest delay, the share of it that chance may take away, and the types
-- of failure that end it at once, a JSON list.
ALTER TABLE activity
  ADD COLUMN max_interval_secs double precision,
  ADD COLUMN jitter double precision NOT NULL DEFAULT 0,
  ADD COLUMN non_retryable text;
ALTER TYPE retry_policy
  ADD ATTRIBUTE max_interval_secs double precision,
  ADD ATTRIBUTE jitter double precision,
  ADD ATTRIBUTE non_retryable text;

-- Attempts that failed, by run: they go with it.
CREATE TABLE attempt (
  run_no      bigint NOT NULL,
  activity_no bigint NOT NULL,
  attempt     bigint NOT NULL,
  worker      text,
  started_at  bigint NOT NULL,
  ended_at    bigint NOT NULL,
  error       text NOT NULL,
  failure     text,
  PRIMARY KEY (run_no, activity_no, attempt)
);

-- The latest cancel request, and the run whose request came down to this one last. A cascade under
-- way goes on as one that began at each run it had reached.
ALTER TABLE run
  ADD COLUMN last_cancel_seq bigint,
  ADD COLUMN asked_by bigint;
UPDATE run SET last_cancel_seq = cancel_seq, asked_by = no WHERE cancel_seq IS NOT NULL;

-- Of expired claims that are unanswered, how far their workers had seen the history: nobody knows.
UPDATE run SET expired_claimers =
  (SELECT json_agg(json_build_array(value, 0))::text
   FROM json_array_elements_text(expired_claimers::json))
WHERE expired_claimers IS NOT NULL;
