-- name: active
-- A run that has not ended, or is dead.
SELECT * FROM active_facts WHERE id = ?;

-- name: finished
-- A run that has ended.
SELECT * FROM finished_facts WHERE id = ?;

-- name: active_of_all
-- Active and dead runs in a stretch of ids, newest first; those that deliver the mail of runs only by their name.
SELECT * FROM active_facts
WHERE id < :before AND id >= :floor
  AND (:owner_id IS NULL OR owner_id = :owner_id)
  AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
  AND (:before_ms IS NULL OR slot_ms < :before_ms) AND (:since_ms IS NULL OR slot_ms >= :since_ms)
  AND (:owner IS NULL OR owner_id IN (SELECT id FROM owners WHERE name = :owner))
  AND {asked}
  AND (:mails = 1 OR substr(key, 1, 5) <> 'mail:')
ORDER BY id DESC LIMIT :limit;

-- name: active_of_job
-- The same, of one job.
SELECT * FROM active_facts
WHERE job_id = :job_id AND id < :before AND id >= :floor
  AND (:owner_id IS NULL OR owner_id = :owner_id)
  AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
  AND (:before_ms IS NULL OR slot_ms < :before_ms) AND (:since_ms IS NULL OR slot_ms >= :since_ms)
  AND (:owner IS NULL OR owner_id IN (SELECT id FROM owners WHERE name = :owner))
  AND {asked}
ORDER BY id DESC LIMIT :limit;

-- name: finished_of_all
-- Finished runs in a stretch of ids, newest first; those that deliver the mail of runs only by their name.
SELECT * FROM finished_facts
WHERE id < :before AND id >= :floor
  AND (:owner_id IS NULL OR owner_id = :owner_id)
  AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
  AND (:before_ms IS NULL OR slot_ms < :before_ms) AND (:since_ms IS NULL OR slot_ms >= :since_ms)
  AND (:owner IS NULL OR owner_id IN (SELECT id FROM owners WHERE name = :owner))
  AND {asked}
  AND (:mails = 1 OR substr(key, 1, 5) <> 'mail:')
ORDER BY id DESC LIMIT :limit;

-- name: finished_of_job
-- The same, of one job.
SELECT * FROM finished_facts
WHERE job_id = :job_id AND id < :before AND id >= :floor
  AND (:owner_id IS NULL OR owner_id = :owner_id)
  AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
  AND (:before_ms IS NULL OR slot_ms < :before_ms) AND (:since_ms IS NULL OR slot_ms >= :since_ms)
  AND (:owner IS NULL OR owner_id IN (SELECT id FROM owners WHERE name = :owner))
  AND {asked}
ORDER BY id DESC LIMIT :limit;

-- name: floor
-- The id at which a page that finds little stops looking.
SELECT id FROM history WHERE id < ? ORDER BY id DESC LIMIT 1 OFFSET ?;

-- name: attempts_of
-- The efforts of a run, oldest first; the last one may be running.
SELECT run_id, attempt, fence, node, pid, claimed_ms, started_ms, ended_ms, exit_code, signal, failure_class, detail,
       cpu_ms, max_rss_kb, log_size, log_dropped_from, log_dropped_to, signals, left_behind
FROM attempts WHERE run_id = :run_id
UNION ALL
SELECT id, attempt, fence, node, pid, claimed_ms, started_ms, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM runs WHERE id = :run_id AND state = 'running'
ORDER BY 2;
