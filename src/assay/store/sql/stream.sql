-- The event stream, and what is folded with it.

-- name: run_counts
-- How many runs a namespace has in each status.
SELECT status, runs FROM run_count WHERE namespace = $1 ORDER BY status;

-- name: stream_page
-- Frames after a number: what one commit added, and up to so many frames more.
SELECT last, size, at, frames FROM stream
WHERE last > $1 AND last <= (SELECT min(last) FROM stream WHERE last > $1) + $2 ORDER BY last;

-- name: stream_bounds
-- Up to which number frames were pruned, and the last number given.
SELECT pruned.value, coalesce((SELECT max(last) FROM stream), pruned.value) FROM meta AS pruned
WHERE pruned.name = 'stream_pruned' ORDER BY pruned.name;

-- name: chore_take
-- Move a chore on that is due or was never done; no row: it is not, or somebody else was quicker.
INSERT INTO chore (name, due_at, ver) VALUES ($1, $3, 1)
ON CONFLICT (name) DO UPDATE SET due_at = excluded.due_at, ver = chore.ver + 1
WHERE chore.due_at <= $2 RETURNING due_at;

-- name: chore_due
-- When a chore is due.
SELECT due_at FROM chore WHERE name = $1;
