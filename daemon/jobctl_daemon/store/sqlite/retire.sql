-- name: unstarted
-- Those of these runs that have not begun, or wait for a retry; then with how their last attempt ended.
SELECT r.id, r.job_id, r.owner_id, r.key, r.slot_ms, r.due_ms, r.trigger, r.gate, r.batch, r.waits, j.name, j.policies,
       r.exit_code, r.signal,
       (SELECT a.started_ms FROM attempts a WHERE a.run_id = r.id ORDER BY a.attempt DESC LIMIT 1)
FROM json_each(?) ids CROSS JOIN runs r ON r.id = ids.value JOIN jobs j ON j.id = r.job_id
WHERE r.state = 'scheduled' OR r.state = 'ready'
ORDER BY r.id;
