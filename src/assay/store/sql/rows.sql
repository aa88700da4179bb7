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
-- Children of these runs that have not ended, the first of them. Of a run whose cancel request is on
-- its way down only those that it has not reached.
SELECT child.parent_no, child.no FROM run AS child JOIN run AS parent ON parent.no = child.parent_no
WHERE child.parent_no IN @ints(1) AND coalesce(child.completed_at, 0) = 0
  AND (parent.cascade IS NULL OR child.asked_by IS NULL OR child.asked_by <> parent.asked_by)
ORDER BY child.parent_no, child.no LIMIT $2;

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

-- name: recorded
-- What the standing histories of these runs hold of what replays had recorded.
SELECT run_no, seq, id, type, at, payload, voided_by FROM event
WHERE run_no IN @ints(1) AND voided_by IS NULL
  AND type IN ('SideEffectRecorded', 'StepCompleted', 'StepFailed', 'StepAttemptFailed',
               'PatchRecorded', 'SearchAttributesUpserted') ORDER BY run_no, seq;

-- name: signals
-- The signals these runs have received.
SELECT run_no, seq, id, type, at, payload, voided_by FROM event
WHERE run_no IN @ints(1) AND type = 'SignalReceived' ORDER BY run_no, seq;

-- name: signal_requests
-- Which of these request ids have reached these runs (more pairs than asked for may come).
SELECT run_no, request_id FROM signal_request
WHERE run_no IN @ints(1) AND request_id IN @texts(2) ORDER BY run_no, request_id;

-- name: chain
-- A run and all its successors, as far as they are there, in their order.
WITH RECURSIVE link (no, successor_no, at) AS (
  SELECT no, successor_no, 1 FROM run WHERE no = $1
  UNION ALL
  SELECT run.no, run.successor_no, link.at + 1 FROM link JOIN run ON run.no = link.successor_no
)
SELECT no, successor_no FROM link ORDER BY at DESC LIMIT 1;

-- name: blocked_runs
-- Runs of these queues whose workflow tasks get nowhere, the first of them.
SELECT queue, no FROM run
WHERE queue IN @texts(1) AND blocked IS NOT NULL AND coalesce(completed_at, 0) = 0
ORDER BY queue, no LIMIT $2;

-- name: schedules_by_no
-- Schedules by number.
SELECT @schedule FROM schedule WHERE no IN @ints(1) ORDER BY no;

-- name: schedules_named
-- Schedules of these namespaces under these names (more pairs than asked for may come).
SELECT @schedule FROM schedule
WHERE namespace IN @texts(1) AND name IN @texts(2) ORDER BY namespace, name;
