-- What is ready and what is due.

-- name: ready_workflows
-- Unclaimed runs of a queue with news, the longest ready first; null namespace: of all.
SELECT no, ready_at, namespace, queue FROM run
WHERE queue = $1 AND ready_at IS NOT NULL AND claim_until IS NULL
  AND ($2 IS NULL OR namespace = $2)
ORDER BY ready_at, no LIMIT $3;

-- name: ready_activities
-- Pending activities of a queue, the longest ready first; null namespace: of all.
SELECT no, ready_at, namespace, queue FROM activity
WHERE queue = $1 AND ready_at IS NOT NULL AND ($2 IS NULL OR namespace = $2)
ORDER BY ready_at, no LIMIT $3;

-- name: deadlines
-- Timers due up to a moment.
SELECT fire_at, 'timer', no FROM timer
WHERE state = 'open' AND fire_at <= $1 ORDER BY fire_at, no LIMIT $2;

-- name: run_claims
-- When leases on runs expire.
SELECT claim_until, 'run', no FROM run WHERE claim_until IS NOT NULL ORDER BY no;

-- name: cascades
-- Cancel requests that have not reached everything below them; they are due at once.
SELECT updated_at, 'run', no FROM run WHERE cascade IS NOT NULL ORDER BY no;

-- name: activity_claims
-- When running attempts count as failed.
SELECT claim_until, 'activity', no FROM activity WHERE claim_until IS NOT NULL ORDER BY no;

-- name: clock_floor
-- The latest moment ever committed.
SELECT max(at) FROM batch;
