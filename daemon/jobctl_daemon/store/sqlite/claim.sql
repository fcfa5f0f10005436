-- name: ready
-- Runs that may start now, with all that is needed to start them.
SELECT r.id, r.fence, r.attempt, r.key, r.job_id, j.uid, j.name, r.version, o.uid, r.owner_id, r.slot_ms, r.due_ms,
       r.trigger, v.schedule, v.execution, j.policies
FROM runs r
CROSS JOIN jobs j ON j.id = r.job_id
CROSS JOIN owners o ON o.id = r.owner_id
CROSS JOIN schedule_versions v ON v.job_id = r.job_id AND v.version = r.version
WHERE r.state = 'ready' AND r.due_ms <= :now_ms AND (r.start_by_ms IS NULL OR r.start_by_ms >= :now_ms)
ORDER BY r.priority, r.due_ms, r.id LIMIT :limit;

-- name: take
-- Fence raised, attempt counted. The state is rechecked.
UPDATE runs SET state = 'running', fence = ?, attempt = ?, node = ?, boot_id = ?, claimed_ms = ?
WHERE id = ? AND state = 'ready';
