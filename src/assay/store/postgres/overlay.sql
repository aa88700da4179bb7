-- Where PostgreSQL says it otherwise.

-- name: live_activities
-- What is pending or running of these runs, through the index of what is not over.
SELECT @activity FROM activity
WHERE run_no IN @ints(1) AND completed_at IS NULL AND status IN ('PENDING', 'RUNNING')
ORDER BY run_no, seq;

-- name: run_claims
-- When leases on runs expire, or their time is over; only open runs have one.
SELECT CASE WHEN timeout_at < claim_until THEN timeout_at ELSE claim_until END, 'run', no FROM run
WHERE completed_at IS NULL AND claim_until IS NOT NULL ORDER BY no;

-- name: activity_claims
-- When running attempts count as failed; only what is not over has one.
SELECT claim_until, 'activity', no FROM activity
WHERE completed_at IS NULL AND claim_until IS NOT NULL ORDER BY no;

-- name: runs_held_by
-- Runs whose open claim a worker has; only open runs have one.
SELECT @run FROM run
WHERE completed_at IS NULL AND claimed_by = $1 AND claim_until IS NOT NULL ORDER BY no;

-- name: activities_held_by
-- Activities whose attempt a worker is at; only what is not over has one.
SELECT @activity FROM activity
WHERE completed_at IS NULL AND claimed_by = $1 AND claim_until IS NOT NULL ORDER BY no;

-- name: worker_seen
-- Workers were heard of; all in one statement.
UPDATE worker SET last_seen = heard.at
FROM unnest($1::text[], $2::bigint[]) AS heard (id, at)
WHERE worker.id = heard.id AND worker.last_seen < heard.at;

-- name: run_counts
-- How many runs a namespace has in each status: what is folded, and what still waits to be.
SELECT status, sum(runs)::bigint FROM (
  SELECT status, runs FROM run_count WHERE namespace = $1
  UNION ALL
  SELECT delta.status, delta.by FROM batch
  CROSS JOIN json_to_recordset(batch.counts::json)
    AS delta (namespace text, status text, by bigint)
  WHERE batch.size IS NOT NULL AND delta.namespace = $1
) AS known GROUP BY status ORDER BY status;

-- name: workers
-- Living workers, each with the number of tasks it holds: leases among the namespace's running runs,
-- activities among its running ones, queue by queue.
WITH RECURSIVE named (queue) AS (@the(activity_queues)),
living AS MATERIALIZED (@the(living)),
held AS MATERIALIZED (
  SELECT claimed_by, count(*) AS tasks FROM (
    SELECT claimed_by FROM run
    WHERE namespace = $1 AND status = 'RUNNING' AND claim_until IS NOT NULL
    UNION ALL
    SELECT activity.claimed_by FROM named JOIN activity
      ON activity.namespace = $1 AND activity.queue = named.queue AND activity.status = 'RUNNING'
  ) AS task GROUP BY claimed_by
)
SELECT living.*, coalesce(held.tasks, 0) FROM living
LEFT JOIN held ON held.claimed_by = living.id ORDER BY living.registered_at, living.id;
