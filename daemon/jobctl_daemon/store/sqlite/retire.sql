-- name: unstarted
-- Those of these runs that have not begun.
SELECT r.id, r.job_id, r.owner_id, r.key, r.slot_ms, r.due_ms, r.trigger, r.gate, r.batch, r.waits, j.name, j.policies
FROM json_each(?) ids CROSS JOIN runs r ON r.id = ids.value JOIN jobs j ON j.id = r.job_id
WHERE r.state = 'scheduled' OR r.state = 'ready'
ORDER BY r.id;
