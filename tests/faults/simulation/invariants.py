"""What may never be in the rows: queries over some runs, each of which must find nothing.

?1 is a JSON list of the numbers of the runs that are looked at.
"""

import apsw
import msgspec

from tests.faults.simulation.trace import Broken

SOME = "IN (SELECT value FROM json_each(?1))"
TERMINAL = "('COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT')"
ENDINGS = """('WorkflowCompleted', 'WorkflowFailed', 'WorkflowCancelled', 'WorkflowTimedOut',
              'WorkflowContinuedAsNew')"""
RECORDED = """('SideEffectRecorded', 'StepCompleted', 'StepFailed', 'StepAttemptFailed',
               'PatchRecorded', 'SearchAttributesUpserted')"""
CHILD_ENDINGS = "('ChildWorkflowCompleted', 'ChildWorkflowFailed')"

RELATED = f"""
    SELECT json_group_array(no) FROM (SELECT no FROM run WHERE no {SOME} OR parent_no {SOME}
    OR no IN (SELECT parent_no FROM run WHERE no {SOME}))"""

FORBIDDEN = {
    "a history with a gap": f"""
        SELECT run.no, run.id, run.last_seq, story.n, story.top FROM run
        LEFT JOIN (SELECT run_no, count(*) n, min(seq) low, max(seq) top FROM event
                   WHERE run_no {SOME} GROUP BY run_no) story ON story.run_no = run.no
        WHERE run.no {SOME} AND (story.n IS NULL OR story.low <> 1
              OR story.n <> run.last_seq OR story.top <> run.last_seq)""",
    "a status that disagrees with the terminal event": f"""
        SELECT run.no, run.id, run.status, count(story.seq), max(story.type) FROM run
        LEFT JOIN event story ON story.run_no = run.no AND story.voided_by IS NULL
              AND story.type IN {ENDINGS}
        WHERE run.no {SOME} GROUP BY run.no
        HAVING count(story.seq) <> (run.status IN {TERMINAL})
            OR max(story.type) <> CASE run.status WHEN 'COMPLETED' THEN
               iif(run.successor_no IS NULL, 'WorkflowCompleted', 'WorkflowContinuedAsNew')
               WHEN 'FAILED' THEN 'WorkflowFailed' WHEN 'CANCELLED' THEN 'WorkflowCancelled'
               WHEN 'TIMED_OUT' THEN 'WorkflowTimedOut' END
            OR max(story.seq) <> run.last_seq""",
    "an open run that nothing will move": f"""
        SELECT run.no, run.id, run.status, run.last_seq FROM run
        WHERE run.no {SOME} AND run.completed_at IS NULL AND run.ready_at IS NULL
          AND run.claim_token IS NULL AND run.cascade IS NULL AND run.waits IS NULL
          AND NOT EXISTS (SELECT 1 FROM activity WHERE activity.run_no = run.no
                          AND activity.status IN ('PENDING', 'RUNNING'))
          AND NOT EXISTS (SELECT 1 FROM timer
                          WHERE timer.run_no = run.no AND timer.state = 'open')
          AND NOT EXISTS (SELECT 1 FROM run child
                          WHERE child.parent_no = run.no AND child.completed_at IS NULL)""",
    "an ended run that still holds something": f"""
        SELECT run.no, run.id, run.status FROM run
        WHERE run.no {SOME} AND (run.status IN {TERMINAL}) <> (run.completed_at IS NOT NULL)
           OR run.no {SOME} AND run.completed_at IS NOT NULL
          AND (run.ready_at IS NOT NULL OR run.claim_token IS NOT NULL
               OR run.claim_until IS NOT NULL OR run.blocked IS NOT NULL
               OR run.kept_token IS NOT NULL
               OR EXISTS (SELECT 1 FROM activity WHERE activity.run_no = run.no
                          AND activity.status = 'PENDING')
               OR EXISTS (SELECT 1 FROM timer
                          WHERE timer.run_no = run.no AND timer.state = 'open'))""",
    "a claim on a run that is half open": f"""
        SELECT no, id, claim_token, claimed_by, claim_until, ready_at FROM run
        WHERE no {SOME} AND (claim_until IS NOT NULL AND claim_token IS NULL
          OR claim_token IS NOT NULL AND (claimed_by IS NULL OR status <> 'RUNNING')
          OR claim_token IS NOT NULL AND claim_until IS NULL AND ready_at IS NULL)""",
    "a run that is kept by nobody, or under another claim than its own": f"""
        SELECT no, id, kept_token, claimed_by, claim_token, claim_until, claim_seq FROM run
        WHERE no {SOME} AND kept_token IS NOT NULL
          AND (claimed_by IS NULL OR status <> 'RUNNING' OR claim_seq > last_seq
            OR claim_token <> kept_token OR (claim_token IS NULL) <> (claim_until IS NULL))""",
    "an activity whose task disagrees with its status": f"""
        SELECT no, run_no, status, ready_at, claim_token, claim_until FROM activity
        WHERE run_no {SOME} AND ((status = 'PENDING') <> (ready_at IS NOT NULL)
          OR (status = 'RUNNING') <> (claim_token IS NOT NULL)
          OR (status = 'RUNNING') <> (claim_until IS NOT NULL)
          OR (status = 'RUNNING') > (claimed_by IS NOT NULL AND started_at IS NOT NULL)
          OR (status IN ('COMPLETED', 'FAILED', 'CANCELLED')) <> (completed_at IS NOT NULL)
          OR attempt < 1 OR attempt > max_attempts)""",
    "an activity of which not every failed attempt is kept": f"""
        SELECT activity.no, activity.run_no, activity.status, activity.attempt,
               count(failed.attempt), max(failed.attempt) FROM activity
        LEFT JOIN attempt failed ON failed.run_no = activity.run_no
              AND failed.activity_no = activity.no
        WHERE activity.run_no {SOME} GROUP BY activity.no
        HAVING count(failed.attempt) <> activity.attempt - (activity.status <> 'FAILED')
            OR max(failed.attempt) <> count(failed.attempt)""",
    "an attempt that was none": f"""
        SELECT attempt.run_no, attempt.activity_no, attempt.attempt, attempt.error FROM attempt
        LEFT JOIN activity ON activity.no = attempt.activity_no
        WHERE attempt.run_no {SOME} AND (activity.run_no IS NOT attempt.run_no
          OR attempt.attempt < 1 OR attempt.worker IS NULL
          OR (attempt.failure IS NULL) <> (attempt.error LIKE '% timeout'))""",
    "a failure that history tells otherwise": f"""
        SELECT failed.run_no, failed.activity_no, failed.error, story.payload FROM attempt failed
        JOIN event story ON story.run_no = failed.run_no AND story.voided_by IS NULL
             AND story.type = 'ActivityFailed'
             AND json_extract(story.payload, '$.activity_id') = failed.activity_no
        WHERE failed.run_no {SOME}
          AND json_extract(story.payload, '$.final_attempt') = failed.attempt
          AND (json_extract(story.payload, '$.error') <> failed.error
            OR json_extract(story.payload, '$.failure') IS NOT failed.failure)""",
    "an activity whose outcome history does not tell once": f"""
        SELECT activity.no, activity.run_no, activity.seq, activity.status, activity.outcome_seq,
               count(story.seq), max(story.seq), run.status FROM activity
        JOIN run ON run.no = activity.run_no
        LEFT JOIN event story ON story.run_no = activity.run_no AND story.voided_by IS NULL
              AND story.type IN ('ActivityCompleted', 'ActivityFailed')
              AND json_extract(story.payload, '$.activity_id') = activity.no
        WHERE activity.run_no {SOME} GROUP BY activity.no
        HAVING count(story.seq) <> (activity.outcome_seq IS NOT NULL)
            OR max(story.seq) <> activity.outcome_seq
            OR max(story.type) <> CASE activity.status WHEN 'COMPLETED' THEN 'ActivityCompleted'
               WHEN 'FAILED' THEN 'ActivityFailed' ELSE '' END
            OR activity.status IN ('COMPLETED', 'FAILED') AND activity.outcome_seq IS NULL
               AND run.completed_at IS NULL""",
    "a timer whose firing history does not tell once": f"""
        SELECT timer.no, timer.run_no, timer.seq, timer.state, count(story.seq) FROM timer
        LEFT JOIN event story ON story.run_no = timer.run_no AND story.voided_by IS NULL
              AND story.type = 'TimerFired' AND story.seq > timer.scheduled_seq
              AND json_extract(story.payload, '$.timer_seq') = timer.seq
        WHERE timer.run_no {SOME} AND timer.seq > 0 GROUP BY timer.no
        HAVING count(story.seq) <> (timer.state = 'fired')""",
    "a timer whose cancelling history does not tell once": f"""
        SELECT timer.no, timer.run_no, timer.seq, timer.state, count(story.seq) FROM timer
        JOIN event story ON story.run_no = timer.run_no AND story.voided_by IS NULL
              AND story.type = 'TimerCancelled' AND story.seq > timer.scheduled_seq
              AND json_extract(story.payload, '$.timer_seq') = timer.seq
        WHERE timer.run_no {SOME} GROUP BY timer.no
        HAVING count(story.seq) > 1 OR timer.state <> 'silenced'""",
    "a signal told twice": f"""
        SELECT run_no, payload, count(*) FROM event
        WHERE run_no {SOME} AND type = 'SignalReceived' GROUP BY run_no, payload
        HAVING count(*) > 1""",
    "a cancel request that came to a run twice": f"""
        SELECT run_no, payload, count(*) FROM event
        WHERE run_no {SOME} AND type = 'WorkflowCancelRequested'
          AND payload NOT LIKE '%replaced by schedule%' GROUP BY run_no, payload
        HAVING count(*) > 1""",
    "a child's outcome told twice": f"""
        SELECT run_no, json_extract(payload, '$.child_workflow_id') child, count(*) FROM event
        WHERE run_no {SOME} AND voided_by IS NULL AND type IN {CHILD_ENDINGS}
        GROUP BY run_no, child HAVING count(*) > 1""",
    "a parent that was not told": f"""
        SELECT child.no, child.id, child.status, parent.id FROM run child
        JOIN run parent ON parent.no = child.parent_no
        WHERE parent.no {SOME} AND child.completed_at IS NOT NULL AND child.successor_no IS NULL
          AND parent.completed_at IS NULL AND parent.cancel_seq IS NULL
          AND NOT EXISTS (SELECT 1 FROM event story WHERE story.run_no = parent.no
              AND story.voided_by IS NULL AND story.type IN {CHILD_ENDINGS}
              AND json_extract(story.payload, '$.child_workflow_id') = child.child_id)""",
    "a chain that is not told where it goes on": f"""
        SELECT run.no, run.id, run.status, next.id
        FROM run JOIN run next ON next.no = run.successor_no
        WHERE run.no {SOME} AND (run.status <> 'COMPLETED' OR run.result_seq IS NOT NULL
          OR next.created_at <> run.completed_at OR next.type <> run.type
          OR next.namespace <> run.namespace OR next.queue <> run.queue
          OR next.parent_no IS NOT run.parent_no
             AND (next.parent_no IS NOT NULL OR run.parent_no IN (SELECT no FROM run))
          OR next.child_id IS NOT run.child_id OR next.timeout_secs IS NOT run.timeout_secs
          OR NOT EXISTS (SELECT 1 FROM event story WHERE story.run_no = run.no
             AND story.seq = run.last_seq AND story.type = 'WorkflowContinuedAsNew'
             AND json_extract(story.payload, '$.new_workflow_id') = next.id))""",
    "a value recorded twice": f"""
        SELECT run_no, type, count(*), max(payload) FROM event
        WHERE run_no {SOME} AND voided_by IS NULL AND type IN {RECORDED}
        GROUP BY run_no, CASE WHEN type = 'StepFailed' THEN 'StepCompleted' ELSE type END,
                 json_extract(payload, '$.side_effect_seq'), json_extract(payload, '$.step_seq'),
                 iif(type = 'StepAttemptFailed', json_extract(payload, '$.attempt'), NULL),
                 json_extract(payload, '$.patch_id'), json_extract(payload, '$.upsert_seq'),
                 iif(json_type(payload, '$.upsert_seq') = 'null', seq, NULL)
        HAVING count(*) > 1""",
    "an attempt at a step that was over": f"""
        SELECT late.run_no, late.seq, late.payload FROM event late
        JOIN event final ON final.run_no = late.run_no AND final.seq < late.seq
             AND final.type IN ('StepCompleted', 'StepFailed') AND final.voided_by IS NULL
             AND json_extract(final.payload, '$.step_seq')
               = json_extract(late.payload, '$.step_seq')
        WHERE late.run_no {SOME} AND late.type = 'StepAttemptFailed' AND late.voided_by IS NULL""",
    "a number that is higher than the highest": f"""
        SELECT run.no, run.id FROM run JOIN event story ON story.run_no = run.no
        WHERE run.no {SOME} AND story.voided_by IS NULL AND story.type IN {RECORDED}
          AND (json_extract(story.payload, '$.side_effect_seq') > run.top_side_effect
            OR json_extract(story.payload, '$.step_seq') > run.top_step
            OR json_extract(story.payload, '$.upsert_seq') > run.top_upsert
            OR story.type = 'PatchRecorded' AND run.patches = 0)""",
    "an unnumbered upsert recorded again with nothing between": f"""
        SELECT twice.run_no, twice.seq, twice.payload FROM event twice
        JOIN event before ON before.run_no = twice.run_no AND before.seq = twice.seq - 1
             AND before.type = twice.type AND before.payload = twice.payload
        WHERE twice.run_no {SOME} AND twice.type = 'SearchAttributesUpserted'""",
    "a snapshot of more than there was": f"""
        SELECT snapshot.run_no, event_seq, last_seq FROM snapshot
        JOIN run ON run.no = snapshot.run_no
        WHERE run_no {SOME} AND (event_seq < 1 OR event_seq > last_seq)""",
    "a run that timed out before its time": f"""
        SELECT no, id, status, timeout_at FROM run
        WHERE no {SOME} AND (status = 'TIMED_OUT') > (timeout_at <= completed_at)""",
}


def check_rows(connection: apsw.Connection, run_nos: list[int]) -> None:
    """Look at these runs, and those above and below them, for everything that may not be."""
    named = msgspec.json.encode(run_nos).decode()
    scope = connection.execute(RELATED, (named,)).fetchall()[0][0]
    for name, query in FORBIDDEN.items():
        found = connection.execute(query, (scope,)).fetchall()
        if found:
            raise Broken(f"{name}: {found[0]}")
