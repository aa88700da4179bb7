-- Workers that registered.

-- name: worker_namespace
-- Where a worker belongs.
SELECT namespace FROM worker WHERE id = $1;

-- name: worker_seen
-- A worker was heard of; written behind, once a second at the most.
UPDATE worker SET last_seen = $2 WHERE id = $1 AND last_seen < $2;
