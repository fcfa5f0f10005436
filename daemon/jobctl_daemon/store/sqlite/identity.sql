-- name: identity
-- What guards and events need of a job.
SELECT id, owner_id, name, uid, suspended, version, queue, priority, policies, deleted_ms FROM jobs WHERE id = ?;
