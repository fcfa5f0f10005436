-- name: active
-- The ids of runs that match and have not ended, as one JSON text: what runs, the longest first; what is to be tried
-- again; what waits; what is to come.
SELECT json_group_array(id) FROM (
    SELECT r.id
    FROM (
        SELECT id FROM runs INDEXED BY runs_gate WHERE gate IS NOT NULL
        UNION ALL
        SELECT id FROM runs INDEXED BY runs_pending WHERE state = 'scheduled' AND held = 0 AND waits = 0
        UNION ALL
        SELECT id FROM runs INDEXED BY runs_held WHERE held = 1 AND gate IS NULL
        UNION ALL
        SELECT id FROM runs INDEXED BY runs_waits WHERE waits > 0
    ) alive
    CROSS JOIN runs r ON r.id = alive.id
    CROSS JOIN jobs j ON j.id = r.job_id
    WHERE (:owner_id IS NULL OR r.owner_id = :owner_id) AND {conditions}
    ORDER BY CASE WHEN r.state = 'running' THEN 0 WHEN r.gate IS NOT NULL AND r.attempt > 0 THEN 1
                  WHEN r.due_ms <= :now_ms THEN 2 ELSE 3 END,
             CASE WHEN r.state = 'running' THEN coalesce(r.started_ms, r.claimed_ms) ELSE r.due_ms END, r.id
);

-- name: jobs
-- The ids of jobs, also of those that are no more, whose runs a filter may mean; as one JSON text.
SELECT json_group_array(id) FROM (
    SELECT j.id FROM jobs j WHERE (:owner_id IS NULL OR j.owner_id = :owner_id) AND {conditions} LIMIT :limit
);

-- name: matching
-- The ids of runs that match and have ended, those that ended last first, as one JSON text; of these candidates.
SELECT json_group_array(id) FROM (
    SELECT r.id AS id, r.finished_ms AS ended_ms
    FROM ({candidates}) candidates CROSS JOIN history r ON r.id = candidates.id CROSS JOIN jobs j ON j.id = r.job_id
    WHERE (:owner_id IS NULL OR r.owner_id = :owner_id) AND r.mail = 0 AND {ended}
    UNION ALL
    SELECT r.id, r.ended_ms
    FROM runs r INDEXED BY runs_died CROSS JOIN jobs j ON j.id = r.job_id
    WHERE r.state = 'dead' AND (:owner_id IS NULL OR r.owner_id = :owner_id) AND substr(r.key, 1, 5) <> 'mail:' AND {dead}
    ORDER BY ended_ms DESC, id DESC
);

-- name: newest
-- Runs that ended last.
SELECT id FROM history INDEXED BY history_ended
WHERE mail = 0 AND (:owner_id IS NULL OR owner_id = :owner_id)
ORDER BY finished_ms DESC, id DESC LIMIT :looked_at;

-- name: newest_in_state
-- The same of some states, which the index knows.
SELECT id FROM history INDEXED BY history_ended
WHERE mail = 0 AND (:owner_id IS NULL OR owner_id = :owner_id) AND state IN (SELECT value FROM json_each(:states))
ORDER BY finished_ms DESC, id DESC LIMIT :looked_at;

-- name: of_jobs
-- Runs of some jobs.
SELECT h.id FROM json_each(:job_ids) wanted CROSS JOIN history h INDEXED BY history_job ON h.job_id = wanted.value
LIMIT :looked_at;

-- name: count_all
-- Runs that have ended; deliveries of mail, of which there are few, are counted apart.
SELECT (SELECT count(*) FROM history) - (SELECT count(*) FROM history INDEXED BY history_mails WHERE mail = 1)
     + (SELECT count(*) FROM runs INDEXED BY runs_died WHERE state = 'dead' AND substr(key, 1, 5) <> 'mail:');

-- name: count
-- The same of one owner.
SELECT (SELECT count(*) FROM history INDEXED BY history_ended WHERE mail = 0 AND owner_id = :owner_id)
     + (SELECT count(*) FROM runs INDEXED BY runs_died
        WHERE state = 'dead' AND substr(key, 1, 5) <> 'mail:' AND owner_id = :owner_id);

-- name: page
-- Runs that have ended, dead letters among them, those that ended last first. Both indexes are walked side by side.
SELECT id FROM (
    SELECT finished_ms, id FROM history INDEXED BY history_ended
    WHERE mail = 0 AND (:owner_id IS NULL OR owner_id = :owner_id)
    UNION ALL
    SELECT ended_ms, id FROM runs INDEXED BY runs_died
    WHERE state = 'dead' AND substr(key, 1, 5) <> 'mail:' AND (:owner_id IS NULL OR owner_id = :owner_id)
    ORDER BY finished_ms DESC, id DESC LIMIT :limit OFFSET :offset
);

-- name: ended_at
-- When a run ended that the caller sees in the list.
SELECT finished_ms FROM history
WHERE id = :run_id AND mail = 0 AND (:owner_id IS NULL OR owner_id = :owner_id)
UNION ALL
SELECT ended_ms FROM runs
WHERE id = :run_id AND state = 'dead' AND substr(key, 1, 5) <> 'mail:'
  AND (:owner_id IS NULL OR owner_id = :owner_id);

-- name: before
-- How many runs come before one that has ended.
SELECT (SELECT count(*) FROM history INDEXED BY history_ended
        WHERE mail = 0 AND finished_ms >= :ended_ms AND (finished_ms, id) > (:ended_ms, :run_id)
          AND (:owner_id IS NULL OR owner_id = :owner_id))
     + (SELECT count(*) FROM runs INDEXED BY runs_died
        WHERE state = 'dead' AND substr(key, 1, 5) <> 'mail:' AND ended_ms >= :ended_ms
          AND (ended_ms, id) > (:ended_ms, :run_id) AND (:owner_id IS NULL OR owner_id = :owner_id));

-- name: today
-- How many runs ended since an instant, by state, and first all of them that are history. Most succeed: these are not
-- sorted into groups.
SELECT NULL, count(*) FROM history INDEXED BY history_ended
WHERE mail = 0 AND finished_ms >= :midnight_ms AND (:owner_id IS NULL OR owner_id = :owner_id)
UNION ALL
SELECT state, count(*) FROM history INDEXED BY history_ended
WHERE mail = 0 AND finished_ms >= :midnight_ms AND (:owner_id IS NULL OR owner_id = :owner_id)
  AND state <> 'succeeded'
GROUP BY state
UNION ALL
SELECT 'dead', count(*) FROM runs INDEXED BY runs_died
WHERE state = 'dead' AND substr(key, 1, 5) <> 'mail:' AND ended_ms >= :midnight_ms
  AND (:owner_id IS NULL OR owner_id = :owner_id);

-- name: active_lines
-- Rows of runs that have not ended, or are dead.
SELECT f.*, coalesce(o.name, '?'), r.priority, q.concurrency
FROM json_each(:ids) wanted
CROSS JOIN runs r ON r.id = wanted.value
CROSS JOIN active_facts f ON f.id = r.id
LEFT JOIN owners o ON o.id = r.owner_id
LEFT JOIN queues q ON q.name = r.queue;

-- name: ended_lines
-- Rows of runs that have ended.
SELECT f.*, coalesce(o.name, '?'), j.priority, NULL
FROM json_each(:ids) wanted
CROSS JOIN finished_facts f ON f.id = wanted.value
CROSS JOIN jobs j ON j.id = f.job_id
LEFT JOIN owners o ON o.id = f.owner_id;
