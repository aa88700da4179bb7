-- Where PostgreSQL says it otherwise.

-- name: worker_seen
-- Workers were heard of; all in one statement.
UPDATE worker SET last_seen = heard.at
FROM unnest($1::text[], $2::bigint[]) AS heard (id, at)
WHERE worker.id = heard.id AND worker.last_seen < heard.at;
