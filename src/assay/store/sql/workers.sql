-- Workers that registered.

-- name: worker_namespace
-- Where a worker belongs.
SELECT namespace FROM worker WHERE id = $1;

-- name: worker_seen
-- A worker was heard of; written behind, once a second at the most.
UPDATE worker SET last_seen = $2 WHERE id = $1 AND last_seen < $2;

-- name: workers_forgotten
-- Workers that have not been heard of for long go.
DELETE FROM worker WHERE last_seen < $1 RETURNING id;

-- Who is living: parameters 1 namespace, 2 since when a worker must have been heard of, 3 who was
-- heard of though it is not written yet.

-- name: living
-- Living workers of a namespace.
SELECT @worker FROM worker WHERE namespace = $1 AND last_seen >= $2
UNION ALL
SELECT @worker FROM worker WHERE id IN @texts(3) AND namespace || '' = $1 AND last_seen < $2;

-- name: workers
-- Living workers, each with the number of tasks it holds.
WITH living AS MATERIALIZED (@the(living)),
held AS MATERIALIZED (
  SELECT claimed_by, count(*) AS tasks FROM (
    SELECT claimed_by FROM run WHERE claim_until IS NOT NULL
    UNION ALL
    SELECT claimed_by FROM activity WHERE claim_until IS NOT NULL
  ) AS task GROUP BY claimed_by
)
SELECT living.*, coalesce(held.tasks, 0) FROM living
LEFT JOIN held ON held.claimed_by = living.id ORDER BY living.registered_at, living.id;

-- name: activity_queues
-- The queues that activities of a namespace name, one step down the index for each.
SELECT (SELECT queue FROM activity WHERE namespace = $1 ORDER BY queue LIMIT 1)
UNION ALL
SELECT (SELECT activity.queue FROM activity
        WHERE activity.namespace = $1 AND activity.queue > named.queue
        ORDER BY activity.queue LIMIT 1)
FROM named WHERE named.queue IS NOT NULL;

-- name: queues
-- Queues that activities or living workers name: what waits there, what runs, and who works.
WITH RECURSIVE named (queue) AS (@the(activity_queues)),
staffed AS MATERIALIZED (
  SELECT queue, count(*) AS workers FROM (@the(living)) AS living GROUP BY queue
),
known AS (
  SELECT queue FROM named WHERE queue IS NOT NULL UNION SELECT queue FROM staffed
)
SELECT known.queue,
  (SELECT count(*) FROM activity WHERE activity.namespace = $1
   AND activity.queue = known.queue AND activity.status = 'PENDING'),
  (SELECT count(*) FROM activity WHERE activity.namespace = $1
   AND activity.queue = known.queue AND activity.status = 'RUNNING'),
  coalesce((SELECT workers FROM staffed WHERE staffed.queue = known.queue), 0)
FROM known ORDER BY known.queue;

-- name: namespace_stats
-- How many schedules and living workers a namespace has; no row: it does not exist.
SELECT (SELECT count(*) FROM schedule WHERE schedule.namespace = $1),
  (SELECT count(*) FROM (@the(living)) AS living)
FROM namespace WHERE name = $1;
