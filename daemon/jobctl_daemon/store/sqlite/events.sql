-- name: append
-- One state change, in the transaction that makes it.
INSERT INTO events (at_ms, kind, owner_id, job_id, run_id, data) VALUES (?, ?, ?, ?, ?, ?);

-- name: newest
-- The number of the newest event.
SELECT coalesce(max(id), 0) FROM events;

-- name: oldest
-- The number of the oldest event that is kept.
SELECT min(id) FROM events;

-- name: since
-- What came after an event, oldest first.
SELECT id, at_ms, kind, job_id, run_id, data, owner_id FROM events WHERE id > ? ORDER BY id LIMIT ?;

-- name: since_of_owner
-- The same, of one owner's jobs.
SELECT id, at_ms, kind, job_id, run_id, data, owner_id FROM events WHERE id > ? AND owner_id = ? ORDER BY id LIMIT ?;

-- name: last_change
-- Who last changed a job, as far as the newest events tell; null where it was nobody.
SELECT json_extract(data, '$.by') FROM events
WHERE id > (SELECT max(id) FROM events) - 100000 AND job_id = ?
  AND kind IN ('job.edited', 'job.paused', 'job.resumed', 'job.quarantined', 'job.done')
ORDER BY id DESC LIMIT 1;

-- name: prune
-- The oldest events that are over their time or their number; the newest :keep_least always stay.
DELETE FROM events WHERE id IN (
    SELECT id FROM (SELECT id, at_ms FROM events WHERE id <= :newest - :keep_least ORDER BY id LIMIT :limit)
    WHERE id <= :newest - :keep_most OR at_ms < :before_ms
);
