-- name: chosen
-- Runs that are to start, with all that is needed to start them.
SELECT r.id, r.fence, r.attempt, r.key, r.job_id, j.uid, j.name, r.version, coalesce(o.uid, -1), coalesce(o.name, ''),
       r.owner_id, r.slot_ms, r.due_ms, r.trigger, coalesce(v.schedule, ''), coalesce(r.execution, v.execution, ''), j.policies, r.probe,
       r.returns,
       EXISTS (SELECT 1 FROM queues q WHERE q.name = r.queue AND q.concurrency IS NOT NULL)
FROM json_each(?) ids
CROSS JOIN runs r ON r.id = ids.value
CROSS JOIN jobs j ON j.id = r.job_id
LEFT JOIN owners o ON o.id = r.owner_id
LEFT JOIN schedule_versions v ON v.job_id = r.job_id AND v.version = r.version;

-- name: set_aside
-- A run without a job can never start; it must not stand before the others.
UPDATE runs SET state = 'scheduled', held = 1, gate = NULL WHERE id = ? AND state = 'ready';

-- name: take
-- Fence raised, attempt counted. The state is rechecked.
UPDATE runs SET state = 'running', fence = ?, attempt = ?, node = ?, boot_id = ?, claimed_ms = ?, started_ms = NULL
WHERE id = ? AND state = 'ready';
