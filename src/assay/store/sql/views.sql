-- Read models: what clients look at.
--
-- `coalesce(completed_at, 0) = 0` is "open" where another index than that of open runs is the way: a
-- plan made of empty tables, which is kept while they fill, would else walk down all open ones.

-- name: run_views
-- Runs with the id of their parent, while that is there, their input and their result.
SELECT @run, parent.id, started.payload, outcome.payload FROM run
LEFT JOIN run AS parent ON parent.no = run.parent_no
LEFT JOIN event AS started ON started.run_no = run.no AND started.seq = 1
LEFT JOIN event AS outcome ON outcome.run_no = run.no AND outcome.seq = run.result_seq
WHERE run.id IN @texts(1) ORDER BY run.no;

-- name: children
-- The same of all runs that have this parent, oldest first.
SELECT @run, parent.id, started.payload, outcome.payload FROM run AS parent
JOIN run ON run.parent_no = parent.no
LEFT JOIN event AS started ON started.run_no = run.no AND started.seq = 1
LEFT JOIN event AS outcome ON outcome.run_no = run.no AND outcome.seq = run.result_seq
WHERE parent.id = $1 ORDER BY run.created_at, run.no;

-- name: situation
-- One run as in run_views and, while it is open, what it may be waiting for: so many (2) live
-- activities, open timers (with the event that set them) and open children, each as JSON, and those
-- of their queues that have a living worker (3 since when, 4 who else).
WITH open AS MATERIALIZED (
  SELECT no, queue FROM run WHERE id = $1 AND coalesce(completed_at, 0) = 0
),
awaited AS MATERIALIZED (
  SELECT * FROM activity
  WHERE run_no = (SELECT no FROM open) AND completed_at IS NULL
    AND status IN ('PENDING', 'RUNNING')
  ORDER BY seq LIMIT $2
),
ticking AS MATERIALIZED (
  SELECT timer.seq, timer.fire_at, event.at, CASE WHEN timer.seq < 0 THEN event.payload END AS step
  FROM timer LEFT JOIN event
    ON event.run_no = (SELECT no FROM open) AND event.seq = timer.scheduled_seq
  WHERE timer.run_no = (SELECT no FROM open) AND timer.state = 'open'
  ORDER BY timer.seq LIMIT $2
),
below AS MATERIALIZED (
  SELECT id, child_id, status, queue, created_at FROM run
  WHERE parent_no = (SELECT no FROM open) AND coalesce(completed_at, 0) = 0
  ORDER BY no LIMIT $2
),
named AS (
  SELECT queue FROM open UNION SELECT queue FROM awaited UNION SELECT queue FROM below
)
SELECT @run, parent.id, started.payload, outcome.payload,
  (SELECT @group(@array(name, status, queue, attempt, max_attempts, scheduled_at,
     (SELECT ended_at FROM attempt AS failed
      WHERE failed.run_no = awaited.run_no AND failed.activity_no = awaited.no
        AND failed.attempt = awaited.attempt - 1),
     started_at, ready_at, claimed_by, claim_until))
   FROM awaited),
  (SELECT @group(@array(seq, fire_at, at, step)) FROM ticking),
  (SELECT @group(@array(id, child_id, status, queue, created_at)) FROM below),
  (SELECT @group(queue) FROM named WHERE
     EXISTS (SELECT 1 FROM worker WHERE worker.namespace = run.namespace
             AND worker.queue = named.queue AND worker.last_seen >= $3)
     OR EXISTS (SELECT 1 FROM worker WHERE worker.id IN @texts(4)
                AND worker.namespace || '' = run.namespace AND worker.queue || '' = named.queue))
FROM run
LEFT JOIN run AS parent ON parent.no = run.parent_no
LEFT JOIN event AS started ON started.run_no = run.no AND started.seq = 1
LEFT JOIN event AS outcome ON outcome.run_no = run.no AND outcome.seq = run.result_seq
WHERE run.id = $1;

-- name: snapshot
-- The newest snapshot of a run.
SELECT run_no, event_seq, state, created_at FROM snapshot
WHERE run_no = (SELECT no FROM run WHERE run.id = $1);

-- name: schedules_of
-- The schedules of a namespace.
SELECT @schedule FROM schedule WHERE namespace = $1 ORDER BY name;

-- name: all_namespaces
-- Every tenant, and since when.
SELECT name, created_at FROM namespace ORDER BY name;

-- name: activity_views
-- Activities, the id of their run, and the events that hold their input and outcome.
SELECT @activity, run.id, scheduled.payload, outcome.payload FROM activity
JOIN run ON run.no = activity.run_no
LEFT JOIN event AS scheduled
  ON scheduled.run_no = activity.run_no AND scheduled.seq = activity.scheduled_seq
LEFT JOIN event AS outcome
  ON outcome.run_no = activity.run_no AND outcome.seq = activity.outcome_seq
WHERE activity.no IN @ints(1) ORDER BY activity.no;

-- name: attempts
-- The failed attempts at an activity, oldest first; without any, one row of nothing.
SELECT @attempt FROM activity
LEFT JOIN attempt ON attempt.run_no = activity.run_no AND attempt.activity_no = activity.no
WHERE activity.no = $1 ORDER BY attempt.attempt;

-- name: histories
-- Standing events of these runs.
SELECT run_no, seq, id, type, at, payload FROM event
WHERE run_no IN @ints(1) AND voided_by IS NULL ORDER BY run_no, seq;

-- name: history_after
-- Standing events of a run after another one.
SELECT run_no, seq, id, type, at, payload FROM event
WHERE run_no = $1 AND seq > $2 AND voided_by IS NULL ORDER BY seq LIMIT $3;

-- name: runs_held_by
-- Runs whose open claim a worker has; a lease that has expired is nobody's.
SELECT @run FROM run WHERE claimed_by = $1 AND claim_until IS NOT NULL ORDER BY no;

-- name: activities_held_by
-- Activities whose attempt a worker is at.
SELECT @activity FROM activity WHERE claimed_by = $1 AND claim_until IS NOT NULL ORDER BY no;

-- name: events_ascending
-- A page of a history, oldest first.
SELECT run_no, seq, id, type, at, payload FROM event
WHERE run_no = (SELECT no FROM run WHERE run.id = $1) AND seq > $2
ORDER BY seq LIMIT $3;

-- name: events_descending
-- A page of a history, newest first.
SELECT run_no, seq, id, type, at, payload FROM event
WHERE run_no = (SELECT no FROM run WHERE run.id = $1) AND seq < $2
ORDER BY seq DESC LIMIT $3;

-- name: last_link
-- The end of a run's chain of successors, as far as it is there, and the number of its first link.
WITH RECURSIVE link (no, id, successor_no, first_no, at) AS (
  SELECT no, id, successor_no, no, 1 FROM run WHERE id = $1 AND (CAST($2 AS bigint) IS NULL OR no = $2)
  UNION ALL
  SELECT run.no, run.id, run.successor_no, link.first_no, link.at + 1
  FROM link JOIN run ON run.no = link.successor_no
)
SELECT no, id, successor_no IS NOT NULL, first_no FROM link ORDER BY at DESC LIMIT 1;

-- name: open_among
-- Which of these runs are there and have not ended.
SELECT no FROM run WHERE no IN @ints(1) AND completed_at IS NULL ORDER BY no;
