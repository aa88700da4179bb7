-- Where PostgreSQL says it otherwise.

-- name: live_activities
-- What is pending or running of these runs, through the index of what is not over.
SELECT @activity FROM activity
WHERE run_no IN @ints(1) AND completed_at IS NULL AND status IN ('PENDING', 'RUNNING')
ORDER BY run_no, seq;

-- name: run_claims
-- When leases on runs expire; only open runs have one.
SELECT claim_until, 'run', no FROM run
WHERE completed_at IS NULL AND claim_until IS NOT NULL ORDER BY no;

-- name: activity_claims
-- When running attempts count as failed; only what is not over has one.
SELECT claim_until, 'activity', no FROM activity
WHERE completed_at IS NULL AND claim_until IS NOT NULL ORDER BY no;

-- name: worker_seen
-- Workers were heard of; all in one statement.
UPDATE worker SET last_seen = heard.at
FROM unnest($1::text[], $2::bigint[]) AS heard (id, at)
WHERE worker.id = heard.id AND worker.last_seen < heard.at;
