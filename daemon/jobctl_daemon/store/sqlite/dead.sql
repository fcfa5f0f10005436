-- name: page
-- Dead letters that match, newest death first, after a place.
SELECT f.* FROM runs r CROSS JOIN jobs j ON j.id = r.job_id CROSS JOIN active_facts f ON f.id = r.id
WHERE r.state = 'dead'
  AND (:ids IS NULL OR r.id IN (SELECT value FROM json_each(:ids)))
  AND (:owner_id IS NULL OR r.owner_id = :owner_id)
  AND (:job_id IS NULL OR r.job_id = :job_id)
  AND (:failure_class IS NULL OR r.failure_class = :failure_class)
  AND (:fingerprint IS NULL OR r.fingerprint = :fingerprint)
  AND (:since_ms IS NULL OR r.ended_ms >= :since_ms) AND (:until_ms IS NULL OR r.ended_ms < :until_ms)
  AND {asked}
  AND (r.ended_ms, r.id) < (:before_ms, :before_id)
ORDER BY r.ended_ms DESC, r.id DESC LIMIT :limit;

-- name: matching
-- The ids of dead letters that match, oldest death first.
SELECT r.id FROM runs r CROSS JOIN jobs j ON j.id = r.job_id
WHERE r.state = 'dead'
  AND (:ids IS NULL OR r.id IN (SELECT value FROM json_each(:ids)))
  AND (:owner_id IS NULL OR r.owner_id = :owner_id)
  AND (:job_id IS NULL OR r.job_id = :job_id)
  AND (:failure_class IS NULL OR r.failure_class = :failure_class)
  AND (:fingerprint IS NULL OR r.fingerprint = :fingerprint)
  AND (:since_ms IS NULL OR r.ended_ms >= :since_ms) AND (:until_ms IS NULL OR r.ended_ms < :until_ms)
  AND {asked}
ORDER BY r.ended_ms, r.id LIMIT :limit;

-- name: groups
-- Dead letters that failed in the same way, the largest group first. Beside a max() alone, and not beside a min() as well,
-- SQLite promises that the bare columns are those of its row: of the newest.
SELECT fingerprint, count(*), json_group_array(DISTINCT name), failure_class, reason, error, first_ms, max(ended_ms),
       sum(replays), id
FROM (
SELECT r.id, r.fingerprint, r.failure_class, r.reason, r.error, r.ended_ms, r.replays, j.name,
       min(r.ended_ms) OVER (PARTITION BY r.fingerprint) AS first_ms
FROM runs r CROSS JOIN jobs j ON j.id = r.job_id
WHERE r.state = 'dead'
  AND (:ids IS NULL OR r.id IN (SELECT value FROM json_each(:ids)))
  AND (:owner_id IS NULL OR r.owner_id = :owner_id)
  AND (:job_id IS NULL OR r.job_id = :job_id)
  AND (:failure_class IS NULL OR r.failure_class = :failure_class)
  AND (:fingerprint IS NULL OR r.fingerprint = :fingerprint)
  AND (:since_ms IS NULL OR r.ended_ms >= :since_ms) AND (:until_ms IS NULL OR r.ended_ms < :until_ms)
  AND {asked}
)
GROUP BY fingerprint ORDER BY count(*) DESC, max(ended_ms) DESC LIMIT :limit;

-- name: facts
-- Dead letters, with what ends or replays them.
SELECT r.id, r.job_id, r.owner_id, r.key, r.outcome, r.failure_class, r.reason, r.started_ms, r.exit_code, r.signal,
       r.error, r.fingerprint, r.replays, j.name, j.version, j.queue, j.priority, j.deleted_ms
FROM json_each(?) ids CROSS JOIN runs r ON r.id = ids.value JOIN jobs j ON j.id = r.job_id
WHERE r.state = 'dead' ORDER BY ids.key;

-- name: surplus
-- The dead letters of a job beyond those that died last.
SELECT id FROM runs INDEXED BY runs_dead WHERE job_id = ? AND state = 'dead'
ORDER BY ended_ms DESC, id DESC LIMIT -1 OFFSET ?;

-- name: expired
-- Dead letters that nobody has looked after for too long.
SELECT id FROM runs WHERE state = 'dead' AND ended_ms < ? ORDER BY ended_ms LIMIT ?;

-- name: given_up
-- A job whose last run was given up is not a failing one.
UPDATE last_runs SET failing = 0, state = 'discarded' WHERE job_id = ? AND run_id = ?;
