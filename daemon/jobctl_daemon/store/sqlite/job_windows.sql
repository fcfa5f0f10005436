-- name: busy
-- What the runs of each job are at that have not ended and that nothing holds on purpose: from the indexes of active
-- runs, of which there are few.
SELECT job_id,
       count(running_id) AS running, count(retry_id) AS retrying, count(queued_id) AS queued,
       coalesce(min(running_id), min(retry_id), min(queued_id)) AS run_id,
       min(due_ms) AS waits_ms, min(retry_ms) AS retry_ms, min(since_ms) AS since_ms
FROM (
    SELECT gate AS job_id,
           CASE WHEN state = 'running' THEN id END AS running_id,
           CASE WHEN state <> 'running' AND attempt > 0 THEN id END AS retry_id,
           CASE WHEN state <> 'running' AND attempt = 0 THEN id END AS queued_id,
           CASE WHEN state = 'ready' AND attempt = 0 AND due_ms <= :now_ms THEN due_ms END AS due_ms,
           CASE WHEN state <> 'running' AND attempt > 0 THEN due_ms END AS retry_ms,
           CASE WHEN state = 'running' THEN coalesce(started_ms, claimed_ms) END AS since_ms
    FROM runs INDEXED BY runs_gate WHERE gate IS NOT NULL
    UNION ALL
    SELECT job_id, NULL, NULL, id, due_ms, NULL, NULL
    FROM runs INDEXED BY runs_pending WHERE state = 'scheduled' AND held = 0 AND waits = 0 AND due_ms <= :now_ms
    UNION ALL
    SELECT job_id, NULL, NULL, id, NULL, NULL, NULL FROM runs INDEXED BY runs_waits WHERE waits > 0
)
GROUP BY job_id;

-- name: late_since
-- Since when a run of a job is due and has not begun, or its cursor has not been looked at; NULL: not long enough.
CASE
    WHEN b.waits_ms + {late_after} < :now_ms THEN b.waits_ms
    WHEN c.next_nominal < :now_ms AND c.next_nominal + {late_after} < :now_ms
        THEN c.next_nominal
END;

-- name: rank
-- The place of a job in the order of attention.
CASE
    WHEN c.error IS NOT NULL OR (j.paused = 1 AND j.quarantined = 1) THEN 0
    WHEN j.paused = 1 OR (j.suspended = 1 AND j.resuming IS NULL) THEN CASE WHEN b.running > 0 THEN 3 ELSE 6 END
    WHEN l.failing = 1 THEN 0
    WHEN {late_since} IS NOT NULL THEN 1
    WHEN b.retrying > 0 THEN 2
    WHEN b.running > 0 THEN 3
    WHEN b.queued > 0 THEN 4
    WHEN c.next_nominal IS NOT NULL THEN 5
    WHEN j.done = 1 THEN 8
    ELSE 7
END;

-- name: urgency
-- Within a rank: the newest failure first; what waits longest, is tried again first, runs longest; what fires next.
CASE {rank}
    WHEN 0 THEN -coalesce(l.finished_ms, 0)
    WHEN 1 THEN {late_since}
    WHEN 2 THEN b.retry_ms
    WHEN 3 THEN b.since_ms
    WHEN 4 THEN b.waits_ms
    WHEN 5 THEN c.next_nominal
    ELSE 0
END;

-- name: trouble
-- Jobs that come before those that only wait for their time, in the order of attention, each as (id, rank, whether it waits
-- for a time all the same); as one JSON text. They are looked for where there are few.
WITH busy AS MATERIALIZED ({busy}),
first AS (
    SELECT job_id FROM last_runs INDEXED BY last_runs_failing WHERE failing = 1
    UNION SELECT job_id FROM cursors INDEXED BY cursors_parked WHERE error IS NOT NULL
    UNION SELECT job_id FROM cursors INDEXED BY cursors_due WHERE next_nominal IS NOT NULL AND next_nominal < :now_ms
    UNION SELECT id FROM jobs INDEXED BY jobs_suspended
          WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0 AND suspended = 1 AND paused = 1 AND quarantined = 1
    UNION SELECT job_id FROM busy
),
ranked AS (
    SELECT j.id, j.name, {rank} AS rank, {urgency} AS urgency, c.next_nominal IS NOT NULL AS timed
    FROM first
    CROSS JOIN jobs j ON j.id = first.job_id
    LEFT JOIN cursors c ON c.job_id = j.id
    LEFT JOIN last_runs l ON l.job_id = j.id
    LEFT JOIN busy b ON b.job_id = j.id
    WHERE j.deleted_ms IS NULL AND j.hidden = 0 AND (j.done = 0 OR :done = 1)
      AND (:owner_id IS NULL OR j.owner_id = :owner_id)
)
SELECT json_group_array(json_array(id, rank, timed))
FROM (SELECT id, rank, timed FROM ranked WHERE rank < 5 ORDER BY rank, urgency, name, id);

-- name: count
-- Live jobs.
SELECT count(*) FROM jobs WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0;

-- name: timed
-- Jobs that wait for a time. What is held, done or gone waits for none.
SELECT count(*) FROM cursors WHERE next_nominal IS NOT NULL;

-- name: by_next
-- A part of the jobs that wait for their time, those that fire next first, but for some.
SELECT job_id FROM cursors INDEXED BY cursors_due
WHERE next_nominal IS NOT NULL AND job_id NOT IN (SELECT value FROM json_each(:but))
ORDER BY next_nominal, job_id LIMIT :limit OFFSET :offset;

-- name: by_name
-- A part of all live jobs in order of name.
SELECT id FROM jobs INDEXED BY jobs_shown WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0
ORDER BY name, id LIMIT :limit OFFSET :offset;

-- name: matching
-- The ids of jobs that match in order of name, as one JSON text.
SELECT json_group_array(id) FROM (
    SELECT j.id
    FROM jobs j
    LEFT JOIN cursors c ON c.job_id = j.id
    LEFT JOIN last_runs l ON l.job_id = j.id
    WHERE j.deleted_ms IS NULL AND j.hidden = 0 AND {live}
      AND (:owner_id IS NULL OR j.owner_id = :owner_id) AND {conditions}
    ORDER BY j.name, j.id
);

-- name: place
-- Where a job stands among those that wait for their time, but for some; nothing of one that does not.
SELECT (SELECT count(*) FROM cursors o INDEXED BY cursors_due
        WHERE o.next_nominal IS NOT NULL AND o.next_nominal <= c.next_nominal
          AND (o.next_nominal, o.job_id) < (c.next_nominal, c.job_id)
          AND o.job_id NOT IN (SELECT value FROM json_each(:but)))
FROM cursors c WHERE c.job_id = :job_id AND c.next_nominal IS NOT NULL;

-- name: place_by_name
-- Where a live job stands in order of name.
SELECT (SELECT count(*) FROM jobs o INDEXED BY jobs_shown
        WHERE o.deleted_ms IS NULL AND o.hidden = 0 AND o.done = 0 AND o.name <= j.name AND (o.name, o.id) < (j.name, j.id))
FROM jobs j WHERE j.id = :job_id AND j.deleted_ms IS NULL AND j.hidden = 0 AND j.done = 0;

-- name: all_by_next
-- The ids of all jobs that wait for their time, those that fire next first, as one JSON text.
SELECT json_group_array(job_id) FROM (
    SELECT job_id FROM cursors INDEXED BY cursors_due WHERE next_nominal IS NOT NULL ORDER BY next_nominal, job_id);

-- name: all_by_last
-- The ids of all jobs with a last run, the one that ended last first.
SELECT json_group_array(job_id) FROM (SELECT job_id FROM last_runs ORDER BY finished_ms DESC, job_id);

-- name: all_by_duration
-- The ids of all jobs whose last run began, the longest first.
SELECT json_group_array(job_id) FROM (
    SELECT l.job_id AS job_id, l.finished_ms - e.started_ms AS took FROM last_runs l CROSS JOIN history e ON e.id = l.run_id
    WHERE e.started_ms IS NOT NULL
    UNION ALL
    SELECT l.job_id, l.finished_ms - e.started_ms
    FROM last_runs l CROSS JOIN runs e ON e.id = l.run_id AND e.state = 'dead' WHERE e.started_ms IS NOT NULL
    ORDER BY took DESC, job_id);

-- name: done
-- The ids of one-shots that are done, where they are wanted.
SELECT json_group_array(id) FROM jobs WHERE :done = 1 AND done = 1 AND deleted_ms IS NULL AND hidden = 0;

-- name: held
-- The ids of jobs that a pause holds.
SELECT json_group_array(id) FROM jobs INDEXED BY jobs_suspended
WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0 AND suspended = 1 AND (paused = 1 OR resuming IS NULL);

-- name: lines
-- The rows of these jobs, in no order: as a job is shown, what it is at, how its last run ended, and its last runs.
WITH busy AS MATERIALIZED ({busy})
SELECT f.*, {rank}, {late_since}, b.retrying, b.queued,
       a.id, a.state, a.started_ms, a.due_ms, a.attempt,
       a.attempt - a.failures - (a.state = 'running'), a.failure_class, a.exit_code, a.signal, a.reason,
       coalesce(h.started_ms, d.started_ms), coalesce(h.failure_class, d.failure_class),
       CASE WHEN l.failing = 1 THEN coalesce(h.error, d.error, h.reason, d.reason) END,
       (SELECT json_group_array(state) FROM (
            SELECT id, state FROM (
                SELECT id, CASE WHEN state = 'succeeded' AND (attempt > 1 OR replays > 0) THEN 'again' ELSE state END AS state
                FROM history WHERE job_id = j.id ORDER BY id DESC LIMIT :recent)
            UNION ALL
            SELECT id, state FROM (SELECT id, state FROM runs INDEXED BY runs_dead WHERE job_id = j.id AND state = 'dead'
                                   ORDER BY id DESC LIMIT :recent)
            ORDER BY id DESC LIMIT :recent)),
       c.skip_until
FROM json_each(:ids) wanted
JOIN jobs j ON j.id = wanted.value
JOIN job_facts f ON f.id = j.id
LEFT JOIN cursors c ON c.job_id = j.id
LEFT JOIN last_runs l ON l.job_id = j.id
LEFT JOIN busy b ON b.job_id = j.id
LEFT JOIN runs a ON a.id = b.run_id
LEFT JOIN history h ON h.id = l.run_id
LEFT JOIN runs d ON d.id = l.run_id AND d.state = 'dead';
