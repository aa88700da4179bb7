-- Lists of runs, newest first. Each goes through one index that has them in that order; which one,
-- store/catalogue.py decides. What else is asked for is looked at run by run until the page is full.
-- Parameters: 1 namespace, 2 status or null, 3 limit, 4 offset, and as far as a list has them:
-- 5 claimer or null, 6 pairs of search attributes, 7 and 8 between which moments, 9 type or null.

-- name: listed
-- The records of a page.
SELECT @run, parent.id, started.payload, outcome.payload FROM page
JOIN run ON run.no = page.no
LEFT JOIN run AS parent ON parent.no = run.parent_no
LEFT JOIN event AS started ON started.run_no = run.no AND started.seq = 1
LEFT JOIN event AS outcome ON outcome.run_no = run.no AND outcome.seq = run.result_seq
ORDER BY page.created_at DESC, page.id;

-- name: of_pairs
-- A run that has all of these search attributes.
NOT EXISTS (
  SELECT 1 FROM pair WHERE NOT EXISTS (
    SELECT 1 FROM attribute AS other
    WHERE other.namespace = $1 AND other.key = pair.key AND other.value = pair.value
      AND other.created_at = run.created_at AND other.run_no = run.no));

-- name: list_by_status
-- All runs, or those of a status.
WITH page AS MATERIALIZED (
  SELECT no, created_at, id FROM (@newest(CAST($3 AS bigint) + $4){
    @each_status{
      SELECT no, created_at, id FROM run
      WHERE namespace = $1 AND status = '@status' AND coalesce($2, '@status') = '@status'
    }
  }) AS found ORDER BY created_at DESC, id LIMIT $3 OFFSET $4
)
@the(listed);

-- name: list_by_type
-- Runs of a type (5), perhaps of a status.
WITH page AS MATERIALIZED (
  SELECT no, created_at, id FROM (@newest(CAST($3 AS bigint) + $4){
    @each_status{
      SELECT no, created_at, id FROM run
      WHERE namespace = $1 AND status || ' ' || substr(type, 1, 100) = '@status ' || substr($5, 1, 100)
        AND type = $5
        AND coalesce($2, '@status') = '@status'
    }
  }) AS found ORDER BY created_at DESC, id LIMIT $3 OFFSET $4
)
@the(listed);

-- name: sift_by_status
-- The same where more is asked for, through all runs of a status.
WITH pair AS MATERIALIZED (SELECT key, value FROM @pairs(6) AS given),
page AS MATERIALIZED (
  SELECT no, created_at, id FROM (@newest(CAST($3 AS bigint) + $4){
    @each_status{
      SELECT no, created_at, id FROM run
      WHERE namespace = $1 AND status = '@status' AND coalesce($2, '@status') = '@status'
        AND (claimed_by = $5 OR $5 IS NULL) AND run.created_at BETWEEN $7 AND $8
        AND @the(of_pairs)
    }
  }) AS found ORDER BY created_at DESC, id LIMIT $3 OFFSET $4
)
@the(listed);

-- name: sift_by_type
-- The same through all runs of a type.
WITH pair AS MATERIALIZED (SELECT key, value FROM @pairs(6) AS given),
page AS MATERIALIZED (
  SELECT no, created_at, id FROM (@newest(CAST($3 AS bigint) + $4){
    @each_status{
      SELECT no, created_at, id FROM run
      WHERE namespace = $1 AND status || ' ' || substr(type, 1, 100) = '@status ' || substr($9, 1, 100)
        AND type = $9
        AND coalesce($2, '@status') = '@status'
        AND (claimed_by = $5 OR $5 IS NULL) AND run.created_at BETWEEN $7 AND $8
        AND @the(of_pairs)
    }
  }) AS found ORDER BY created_at DESC, id LIMIT $3 OFFSET $4
)
@the(listed);

-- name: sift_by_claimer
-- The same through the runs a worker claimed last: those that have ended, found by index, and all
-- that are under way. Who is pending was never claimed.
WITH pair AS MATERIALIZED (SELECT key, value FROM @pairs(6) AS given),
page AS MATERIALIZED (
  SELECT no, created_at, id FROM (@newest(CAST($3 AS bigint) + $4){
    SELECT no, created_at, id FROM run
    WHERE namespace = $1 AND ended_by = substr($5, 1, 100) AND claimed_by = $5
      AND coalesce($2, status) = status
      AND coalesce($9, type) = type AND run.created_at BETWEEN $7 AND $8
      AND @the(of_pairs)
    UNION ALL
    SELECT no, created_at, id FROM run
    WHERE namespace = $1 AND status = 'RUNNING' AND coalesce($2, 'RUNNING') = 'RUNNING'
      AND claimed_by = $5 AND coalesce($9, type) = type AND run.created_at BETWEEN $7 AND $8
      AND @the(of_pairs)
    UNION ALL
    SELECT no, created_at, id FROM run
    WHERE namespace = $1 AND status = 'WAITING' AND coalesce($2, 'WAITING') = 'WAITING'
      AND claimed_by = $5 AND coalesce($9, type) = type AND run.created_at BETWEEN $7 AND $8
      AND @the(of_pairs)
  }) AS found ORDER BY created_at DESC, id LIMIT $3 OFFSET $4
)
@the(listed);

-- name: sift_by_attribute
-- The same through the runs that have one search attribute (10 its key, 11 its value).
WITH pair AS MATERIALIZED (SELECT key, value FROM @pairs(6) AS given),
page AS MATERIALIZED (
  SELECT run.no, run.created_at, run.id FROM attribute JOIN run ON run.no = attribute.run_no
  WHERE attribute.namespace = $1 AND attribute.key = $10 AND attribute.value = $11
    AND attribute.created_at BETWEEN $7 AND $8
    AND coalesce($2, run.status) = run.status AND coalesce($9, run.type) = run.type
    AND (run.claimed_by = $5 OR $5 IS NULL) AND @the(of_pairs)
  ORDER BY attribute.created_at DESC, run.id LIMIT $3 OFFSET $4
)
@the(listed);

-- How much each way would have to look at: how many runs it leads through, counted up to $3 of them,
-- and if there are more, when the last one of so many newest was created. What reaches further back
-- is sparser.

-- name: weigh_attributes
-- For each search attribute (2), with the moments of its newest and its oldest run.
SELECT key, value,
  (SELECT count(*) FROM (
    SELECT 1 FROM attribute AS entry
    WHERE entry.namespace = $1 AND entry.key = pair.key AND entry.value = pair.value LIMIT $3
  ) AS few),
  (SELECT entry.created_at FROM attribute AS entry
   WHERE entry.namespace = $1 AND entry.key = pair.key AND entry.value = pair.value
   ORDER BY entry.created_at DESC LIMIT 1 OFFSET $3),
  (SELECT entry.created_at FROM attribute AS entry
   WHERE entry.namespace = $1 AND entry.key = pair.key AND entry.value = pair.value
   ORDER BY entry.created_at DESC LIMIT 1),
  (SELECT entry.created_at FROM attribute AS entry
   WHERE entry.namespace = $1 AND entry.key = pair.key AND entry.value = pair.value
   ORDER BY entry.created_at LIMIT 1)
FROM @pairs(2) AS pair ORDER BY key;

-- name: weigh_status
-- For a status (2).
SELECT
  (SELECT count(*) FROM (
    SELECT 1 FROM run WHERE namespace = $1 AND status = $2 LIMIT $3
  ) AS few),
  (SELECT created_at FROM run WHERE namespace = $1 AND status = $2
   ORDER BY created_at DESC LIMIT 1 OFFSET $3);

-- name: weigh_type
-- For a type (4), perhaps of a status (2).
WITH found AS MATERIALIZED (
  SELECT created_at FROM (@newest(CAST($3 AS bigint) + 1){
    @each_status{
      SELECT no, created_at, id FROM run
      WHERE namespace = $1 AND status || ' ' || substr(type, 1, 100) = '@status ' || substr($4, 1, 100)
        AND coalesce($2, '@status') = '@status'
    }
  }) AS newest ORDER BY created_at DESC LIMIT CAST($3 AS bigint) + 1
)
SELECT (SELECT count(*) FROM found), (SELECT created_at FROM found ORDER BY created_at DESC LIMIT 1 OFFSET $3);

-- name: weigh_claimer
-- For a worker (2): what it claimed last and has ended, and all that is under way.
WITH found AS MATERIALIZED (
  SELECT created_at FROM (@newest(CAST($3 AS bigint) + 1){
    SELECT no, created_at, id FROM run WHERE namespace = $1 AND ended_by = substr($2, 1, 100)
    UNION ALL
    SELECT no, created_at, id FROM run WHERE namespace = $1 AND status = 'RUNNING'
    UNION ALL
    SELECT no, created_at, id FROM run WHERE namespace = $1 AND status = 'WAITING'
  }) AS newest ORDER BY created_at DESC LIMIT CAST($3 AS bigint) + 1
)
SELECT (SELECT count(*) FROM found), (SELECT created_at FROM found ORDER BY created_at DESC LIMIT 1 OFFSET $3);
