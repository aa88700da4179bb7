-- Read models: what clients look at.

-- name: run_payloads
-- Input and result of these runs.
SELECT run.no, started.payload, outcome.payload FROM run
LEFT JOIN event started ON started.run_no = run.no AND started.seq = 1
LEFT JOIN event outcome ON outcome.run_no = run.no AND outcome.seq = run.result_seq
WHERE run.no IN @ints(1) ORDER BY run.no;

-- name: activity_payloads
-- The events that hold input and outcome of these activities, and the id of their run.
SELECT activity.no, run.id, scheduled.payload, outcome.payload FROM activity
JOIN run ON run.no = activity.run_no
LEFT JOIN event scheduled
  ON scheduled.run_no = activity.run_no AND scheduled.seq = activity.scheduled_seq
LEFT JOIN event outcome
  ON outcome.run_no = activity.run_no AND outcome.seq = activity.outcome_seq
WHERE activity.no IN @ints(1) ORDER BY activity.no;

-- name: histories
-- Standing events of these runs.
SELECT run_no, seq, id, type, at, payload FROM event
WHERE run_no IN @ints(1) AND voided_by IS NULL ORDER BY run_no, seq;

-- name: events_ascending
-- A page of a history, oldest first.
SELECT event.run_no, event.seq, event.id, event.type, event.at, event.payload FROM event
JOIN run ON run.no = event.run_no
WHERE run.id = $1 AND event.seq > $2 ORDER BY event.seq LIMIT $3;

-- name: events_descending
-- A page of a history, newest first.
SELECT event.run_no, event.seq, event.id, event.type, event.at, event.payload FROM event
JOIN run ON run.no = event.run_no
WHERE run.id = $1 AND event.seq < $2 ORDER BY event.seq DESC LIMIT $3;
