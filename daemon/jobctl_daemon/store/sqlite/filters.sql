-- What each term of a filter says, of a job (j, with its cursor c and its last run l), and of a run (r, with its job j):
-- *active* of the table of runs that have not ended or are dead, *ended* of history. Without a prefix it is the same of all.
-- {v} is the value, {is} compares with it, {op} is = < or >.

-- name: word
-- A part of its name.
instr(lower(j.name), lower({v})) > 0;

-- name: pattern
-- Its name matches.
j.name REGEXP {v};

-- name: dead_word
-- A part of its name, its reason, or what it said.
instr(lower(j.name || ' ' || coalesce(r.reason, '') || ' ' || coalesce(r.error, '')), lower({v})) > 0;

-- name: dead_pattern
-- One of these matches.
j.name REGEXP {v} OR coalesce(r.reason, '') REGEXP {v} OR coalesce(r.error, '') REGEXP {v};

-- name: name
-- Its whole name.
j.name {is};

-- name: tag
-- One of its tags. Policies that a disk has spoilt have none.
EXISTS (SELECT 1 FROM json_each(iif(json_valid(j.policies), j.policies, '{{}}'), '$.tags') t WHERE t.value {is});

-- name: plain_tag
-- The same where the tag is in JSON as it is said: policies without these letters need not be read as JSON.
instr(lower(j.policies), '"' || lower({v}) || '"') > 0
AND EXISTS (SELECT 1 FROM json_each(iif(json_valid(j.policies), j.policies, '{{}}'), '$.tags') t WHERE t.value {is});

-- name: queue
-- Its queue.
j.queue {is};

-- name: active_queue
-- That in which it waits.
r.queue {is};

-- name: owner
-- Whose it is.
EXISTS (SELECT 1 FROM owners o WHERE o.id = j.owner_id AND o.name {is});

-- name: source
-- Where it comes from, by its kind or in full, or the file that owns it.
j.source {is} OR substr(j.source, 1, instr(j.source || ':', ':') - 1) {is} OR j.declared {is};

-- name: command
-- A part of what it runs.
EXISTS (
    SELECT 1 FROM schedule_versions v
    WHERE v.job_id = j.id AND v.version = j.version AND json_valid(v.execution)
      AND instr(lower(coalesce(json_extract(v.execution, '$.shell'),
                               (SELECT group_concat(a.value, ' ') FROM json_each(v.execution, '$.command') a))),
                lower({v})) > 0);

-- name: job_next
-- How long until its next time; what is overdue is less than any.
c.next_nominal - :now_ms {op} {v};

-- name: job_last
-- How long ago its last run ended.
:now_ms - l.finished_ms {op} {v};

-- name: job_dur
-- How long its last run took.
EXISTS (SELECT 1 FROM history e WHERE e.id = l.run_id AND l.finished_ms - e.started_ms {op} {v})
OR EXISTS (SELECT 1 FROM runs e WHERE e.id = l.run_id AND e.state = 'dead' AND l.finished_ms - e.started_ms {op} {v});

-- name: job_exit
-- Of its last run.
l.exit_code {op} {v};

-- name: job_class
-- Of its last run: the outcome of one that failed is the word of its class.
l.outcome = {v};

-- name: job_trigger
-- Of its last run.
EXISTS (SELECT 1 FROM history e WHERE e.id = l.run_id AND e.trigger = {v})
OR EXISTS (SELECT 1 FROM runs e WHERE e.id = l.run_id AND e.state = 'dead' AND e.trigger = {v});

-- name: job_error
-- What its last run said, if that failed.
l.failing = 1
AND (EXISTS (SELECT 1 FROM history e WHERE e.id = l.run_id
             AND instr(lower(coalesce(e.error, '') || ' ' || coalesce(e.reason, '')), lower({v})) > 0)
     OR EXISTS (SELECT 1 FROM runs e WHERE e.id = l.run_id AND e.state = 'dead'
                AND instr(lower(coalesce(e.error, '') || ' ' || coalesce(e.reason, '')), lower({v})) > 0));

-- name: job_state_failed
l.failing = 1;

-- name: job_state_paused
-- By whatever pause.
j.paused = 1 OR (j.suspended = 1 AND j.resuming IS NULL);

-- name: job_state_quarantined
j.paused = 1 AND j.quarantined = 1;

-- name: job_state_parked
c.error IS NOT NULL;

-- name: job_state_running
EXISTS (SELECT 1 FROM runs r WHERE r.gate = j.id AND r.gate IS NOT NULL AND r.state = 'running');

-- name: job_state_retrying
EXISTS (SELECT 1 FROM runs r WHERE r.gate = j.id AND r.gate IS NOT NULL AND r.state <> 'running' AND r.attempt > 0);

-- name: job_state_queued
-- One of its runs is due, or waits for another, and has not begun.
EXISTS (SELECT 1 FROM runs r WHERE r.job_id = j.id
        AND ((r.state = 'ready' AND r.attempt = 0) OR r.waits > 0
             OR (r.state = 'scheduled' AND r.held = 0 AND r.due_ms <= :now_ms)));

-- name: job_state_late
-- Due for longer than it may be, and nothing holds it on purpose.
NOT (j.paused = 1 OR (j.suspended = 1 AND j.resuming IS NULL))
AND (c.next_nominal + {late_after} < :now_ms
     OR EXISTS (SELECT 1 FROM runs r WHERE r.job_id = j.id AND r.due_ms + {late_after} < :now_ms
                AND ((r.state = 'ready' AND r.attempt = 0) OR (r.state = 'scheduled' AND r.held = 0 AND r.waits = 0))));

-- name: job_state_ok
-- Nothing else is to be said of it.
j.done = 0 AND c.error IS NULL AND NOT (j.paused = 1 OR (j.suspended = 1 AND j.resuming IS NULL))
AND coalesce(l.failing, 0) = 0
AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.job_id = j.id
                AND (r.gate IS NOT NULL OR r.waits > 0
                     OR (r.state = 'scheduled' AND r.held = 0 AND r.due_ms <= :now_ms)));

-- name: job_state_new
-- It has not run yet.
l.run_id IS NULL AND j.done = 0;

-- name: job_state_manual
-- Nothing but a hand starts it.
j.starts_kind IS NULL AND j.one_shot = 0
AND EXISTS (SELECT 1 FROM schedule_versions v
            WHERE v.job_id = j.id AND v.version = j.version AND json_valid(v.schedule)
              AND coalesce(json_extract(v.schedule, '$.cron'), json_extract(v.schedule, '$.every_ms'),
                           json_extract(v.schedule, '$.at_ms'), json_extract(v.schedule, '$.after_job')) IS NULL);

-- name: job_state_skipping
-- Its occurrences are skipped again and again.
EXISTS (SELECT 1 FROM streaks s WHERE s.job_id = j.id AND s.skips >= {skips});

-- name: job_state_dead
-- It has dead letters.
EXISTS (SELECT 1 FROM runs r INDEXED BY runs_dead WHERE r.job_id = j.id AND r.state = 'dead');

-- name: job_state_done
j.done = 1;

-- name: exit
r.exit_code {op} {v};

-- name: class
r.failure_class = {v};

-- name: trigger
r.trigger = {v};

-- name: error
-- What it said when it failed, or why it ended.
instr(lower(coalesce(r.error, '') || ' ' || coalesce(r.reason, '')), lower({v})) > 0;

-- name: state
r.state = {v};

-- name: active_next
-- How long until it is due.
(r.state = 'scheduled' OR r.state = 'ready') AND r.due_ms - :now_ms {op} {v};

-- name: ended_next
0;

-- name: active_last
r.state = 'dead' AND :now_ms - r.ended_ms {op} {v};

-- name: ended_last
:now_ms - r.finished_ms {op} {v};

-- name: active_dur
CASE r.state WHEN 'dead' THEN r.ended_ms WHEN 'running' THEN :now_ms END - r.started_ms {op} {v};

-- name: ended_dur
r.finished_ms - r.started_ms {op} {v};

-- name: active_state_active
r.state <> 'dead';

-- name: active_state_retrying
r.state <> 'dead' AND r.state <> 'running' AND r.gate IS NOT NULL AND r.attempt > 0;

-- name: active_state_waiting
-- It is due, and has not begun.
(r.state = 'scheduled' OR (r.state = 'ready' AND r.attempt = 0)) AND (r.due_ms <= :now_ms OR r.waits > 0);

-- name: active_state_late
CASE WHEN r.state = 'running' OR r.state = 'dead' THEN r.started_ms WHEN r.held = 0 THEN :now_ms END
- r.due_ms > {late_after};

-- name: ended_state_active
0;

-- name: ended_state_retrying
0;

-- name: ended_state_waiting
0;

-- name: ended_state_late
r.late = 1;

-- name: late_after
-- How long after its time a run of a job is late, in ms.
coalesce(iif(json_valid(j.policies), json_extract(j.policies, '$.late_after_ms'), NULL), 10000);

-- name: of_job
-- The job of a row of job_facts is one of those.
EXISTS (SELECT 1 FROM jobs j LEFT JOIN cursors c ON c.job_id = j.id LEFT JOIN last_runs l ON l.job_id = j.id
        WHERE j.id = job_facts.id AND {condition});

-- name: of_active
-- The run of a row of active_facts is one of those.
EXISTS (SELECT 1 FROM runs r CROSS JOIN jobs j ON j.id = r.job_id WHERE r.id = active_facts.id AND {condition});

-- name: of_ended
-- The run of a row of finished_facts is one of those.
EXISTS (SELECT 1 FROM history r CROSS JOIN jobs j ON j.id = r.job_id WHERE r.id = finished_facts.id AND {condition});
