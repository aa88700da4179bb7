-- What is ready and what is due.

-- name: ready_workflows
-- Unclaimed runs of a queue with news, the longest ready first; null namespace: of all. Beside them
-- those that a worker keeps, perhaps under a claim still open, as far as the others go.
WITH anybodys AS (
  SELECT no, ready_at, namespace, queue FROM run
  WHERE queue = $1 AND ready_at IS NOT NULL AND claim_until IS NULL AND kept_token IS NULL
    AND ($2 IS NULL OR namespace = $2)
  ORDER BY ready_at, no LIMIT $3
)
SELECT no, ready_at, namespace, queue, NULL, 0 FROM anybodys
UNION ALL
SELECT * FROM (
  SELECT no, ready_at, namespace, queue, claimed_by, claim_until IS NOT NULL FROM run
  WHERE queue = $1 AND kept_token IS NOT NULL AND ($2 IS NULL OR namespace = $2)
    AND ready_at <= (SELECT CASE WHEN count(*) < $3 THEN 9223372036854775807 ELSE max(ready_at) END
                     FROM anybodys)
  ORDER BY ready_at, no LIMIT $3
)
ORDER BY 2, 1;

-- name: ready_activities
-- Pending activities of a queue, the longest ready first; null namespace: of all.
SELECT no, ready_at, namespace, queue, NULL, 0 FROM activity
WHERE queue = $1 AND ready_at IS NOT NULL AND ($2 IS NULL OR namespace = $2)
ORDER BY ready_at, no LIMIT $3;

-- name: deadlines
-- Timers due up to a moment.
SELECT fire_at, 'timer', no FROM timer
WHERE state = 'open' AND fire_at <= $1 ORDER BY fire_at, no LIMIT $2;

-- name: timeouts
-- Open runs whose time is over by then, with what is due before: the rest of a cascade, the end of
-- their lease.
SELECT CASE WHEN cascade IS NOT NULL THEN updated_at WHEN claim_until < timeout_at THEN claim_until
       ELSE timeout_at END, 'run', no FROM run
WHERE completed_at IS NULL AND timeout_at <= $1 ORDER BY timeout_at, no LIMIT $2;

-- name: schedules_due
-- Schedules that come due by then.
SELECT next_run_at, 'schedule', no FROM schedule
WHERE NOT paused AND next_run_at <= $1
  AND (SELECT name FROM namespace WHERE name = schedule.namespace) IS NOT NULL
ORDER BY next_run_at, no LIMIT $2;

-- name: starts_due
-- Schedules with a start that waits no longer: the run before it has ended, or is gone.
SELECT queued_start, 'schedule', no FROM schedule
WHERE NOT paused AND queued_start <= $1
  AND (SELECT name FROM namespace WHERE name = schedule.namespace) IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM run
                  WHERE run.no = schedule.last_run_no AND run.completed_at IS NULL)
ORDER BY queued_start, no LIMIT $2;

-- name: waiting_starts
-- Schedules with a start that waits, and the run whose end it waits for.
SELECT last_run_no, no FROM schedule
WHERE NOT paused AND queued_start IS NOT NULL AND last_run_no IS NOT NULL ORDER BY queued_start, no;

-- name: run_claims
-- When leases on runs expire, or their time is over.
SELECT CASE WHEN timeout_at < claim_until THEN timeout_at ELSE claim_until END, 'run', no FROM run
WHERE claim_until IS NOT NULL ORDER BY no;

-- name: cascades
-- Cancel requests that have not reached everything below them; they are due at once.
SELECT updated_at, 'run', no FROM run WHERE cascade IS NOT NULL ORDER BY no;

-- name: activity_claims
-- When running attempts count as failed.
SELECT claim_until, 'activity', no FROM activity WHERE claim_until IS NOT NULL ORDER BY no;

-- name: clock_floor
-- The latest moment ever committed.
SELECT max(at) FROM batch;
