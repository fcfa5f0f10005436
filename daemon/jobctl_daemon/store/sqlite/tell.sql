-- name: notices
-- What people may want to be told of, and how deliveries ended. The kinds are asked first: most events are others.
SELECT e.id, e.at_ms, e.kind, e.job_id, e.run_id, e.data
FROM events e CROSS JOIN jobs j ON j.id = e.job_id
WHERE e.id > :after
  AND (e.kind = 'run.dead' OR e.kind = 'run.failed' OR e.kind = 'run.succeeded' OR e.kind = 'job.recovered'
       OR e.kind = 'job.quarantined' OR e.kind = 'job.skipping')
  AND ((j.told = 1 AND e.kind <> 'run.succeeded')
       OR (j.hidden = 1 AND j.source = :source AND (e.kind = 'run.failed' OR e.kind = 'run.succeeded')))
ORDER BY e.id LIMIT :limit;

-- name: owner_of
-- Whose job it is, also when it was deleted.
SELECT o.uid, o.name FROM jobs j JOIN owners o ON o.id = j.owner_id WHERE j.id = ?;

-- name: carrier
-- The hidden job of earlier messages.
SELECT id, deleted_ms FROM jobs WHERE uid = ?;

-- name: revive
-- Somebody removed it, and with it the messages that waited; those to come are others.
UPDATE jobs SET deleted_ms = NULL WHERE id = ?;

-- name: hold
-- The daemon, or the queue of the messages, is paused.
UPDATE runs SET held = 1 WHERE id = ? AND state = 'scheduled';

-- name: forget
-- A note that is not needed any more.
DELETE FROM meta WHERE key = ?;
