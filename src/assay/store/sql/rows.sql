-- Rows that decisions are made on. @ints(n) and @texts(n) stand for "any of the list in parameter n".

-- name: runs_by_id
-- Runs by the id clients know.
SELECT @run FROM run WHERE id IN @texts(1) ORDER BY no;

-- name: runs_by_no
-- Runs by number.
SELECT @run FROM run WHERE no IN @ints(1) ORDER BY no;

-- name: live_activities
-- What is pending or running of these runs.
SELECT @activity FROM activity
WHERE run_no IN @ints(1) AND status IN ('PENDING', 'RUNNING') ORDER BY run_no, seq;

-- name: open_timers
-- Timers of these runs that may still fire.
SELECT @timer FROM timer WHERE run_no IN @ints(1) AND state = 'open' ORDER BY run_no, seq;

-- name: activities_by_no
-- Activities by number, whatever their status.
SELECT @activity FROM activity WHERE no IN @ints(1) ORDER BY no;

-- name: activities_at
-- Activities of these runs under these seqs (more pairs than asked for may come).
SELECT @activity FROM activity WHERE run_no IN @ints(1) AND seq IN @ints(2) ORDER BY no;

-- name: activities_of
-- All activities of one run.
SELECT @activity FROM activity WHERE run_no = $1 ORDER BY seq;

-- name: timers_by_no
-- Timers by number, whatever their state.
SELECT @timer FROM timer WHERE no IN @ints(1) ORDER BY no;

-- name: timers_at
-- Timers of these runs under these seqs (more pairs than asked for may come).
SELECT @timer FROM timer WHERE run_no IN @ints(1) AND seq IN @ints(2) ORDER BY no;

-- name: timers_of
-- All timers of one run.
SELECT @timer FROM timer WHERE run_no = $1 ORDER BY seq;

-- name: events_of
-- The whole history of one run, voided events included.
SELECT run_no, seq, id, type, at, payload, voided_by FROM event WHERE run_no = $1 ORDER BY seq;

-- name: open_children
-- Children of these runs that have not ended and were not asked to, the first of them.
SELECT parent_no, no FROM run
WHERE parent_no IN @ints(1) AND completed_at IS NULL AND cancel_seq IS NULL
ORDER BY parent_no, no LIMIT $2;

-- name: ended_children
-- Children of one run that have ended, in the order of their ends.
SELECT @run FROM run WHERE parent_no = $1 AND completed_at IS NOT NULL ORDER BY completed_at, no;

-- name: child_outcomes
-- What the histories of these runs tell of how children ended.
SELECT run_no, payload FROM event
WHERE run_no IN @ints(1)
  AND type IN ('ChildWorkflowCompleted', 'ChildWorkflowFailed') ORDER BY run_no, seq;

-- name: payloads_at
-- Payloads of these runs under these seqs (more pairs than asked for may come).
SELECT run_no, seq, payload FROM event
WHERE run_no IN @ints(1) AND seq IN @ints(2) ORDER BY run_no, seq;

-- name: namespaces
-- Which of these namespaces exist.
SELECT name FROM namespace WHERE name IN @texts(1) ORDER BY name;
