-- What breaks an invariant of docs/invariants.md. Each statement looks at the rows whose driving id is in (:low, :high];
-- its first column says where. What retention may have taken away is asked for only while :pruned is 0.

-- name: active_and_finished
SELECT r.id FROM runs r JOIN history h ON h.id = r.id WHERE r.id > :low AND r.id <= :high;

-- name: one_run_each
SELECT min(id), job_id, key, count(*) FROM
    (SELECT id, job_id, key FROM runs WHERE job_id > :low AND job_id <= :high
     UNION ALL SELECT id, job_id, key FROM history WHERE job_id > :low AND job_id <= :high)
GROUP BY job_id, key HAVING count(*) > 1;

-- name: fences_rise
SELECT a.run_id, a.attempt, a.fence, b.attempt, b.fence FROM attempts a
JOIN attempts b ON b.run_id = a.run_id AND b.attempt > a.attempt AND b.fence <= a.fence
WHERE a.run_id > :low AND a.run_id <= :high;

-- name: fence_of_newest
SELECT r.id, r.fence, a.fence FROM
    (SELECT id, fence, attempt FROM runs WHERE id > :low AND id <= :high
     UNION ALL SELECT id, fence, attempt FROM history WHERE id > :low AND id <= :high) r
JOIN attempts a ON a.run_id = r.id
WHERE a.fence > r.fence OR (a.fence = r.fence AND a.attempt <> r.attempt);

-- name: attempts_of_active
SELECT r.id, r.state, r.attempt FROM runs r
WHERE r.id > :low AND r.id <= :high
  AND r.attempt - (r.state = 'running') <> (SELECT count(*) FROM attempts a WHERE a.run_id = r.id);

-- name: attempts_of_finished
SELECT h.id, h.attempt FROM history h
WHERE h.id > :low AND h.id <= :high
  AND h.attempt <> (SELECT count(*) FROM attempts a WHERE a.run_id = h.id)
  AND NOT (h.state = 'cancelled' AND h.started_ms IS NULL);

-- name: own_gate
SELECT id, job_id, gate FROM runs WHERE id > :low AND id <= :high AND gate <> job_id;

-- name: gate_held
SELECT id, state FROM runs
WHERE id > :low AND id <= :high AND gate IS NULL AND (state = 'ready' OR state = 'running');

-- name: waits_for_nobody
SELECT r.id, r.job_id FROM runs r
WHERE r.id > :low AND r.id <= :high
  AND r.waits = 1 AND NOT EXISTS (SELECT 1 FROM runs g WHERE g.gate = r.job_id);

-- name: turn_of_nobody
SELECT r.id, r.batch FROM runs r
WHERE r.id > :low AND r.id <= :high AND r.waits = 2
  AND NOT EXISTS (SELECT 1 FROM runs t WHERE t.batch = r.batch AND t.waits < 2 AND t.state <> 'dead');

-- name: one_turn
SELECT min(r.id), r.batch, count(*) FROM runs r JOIN replays b ON b.id = r.batch
WHERE b.stop_on_failure = 1 AND r.waits < 2 AND r.state <> 'dead' GROUP BY r.batch HAVING count(*) > 1;

-- name: held_for_nothing
SELECT r.id, r.by_hand, j.suspended FROM runs r JOIN jobs j ON j.id = r.job_id
WHERE r.id > :low AND r.id <= :high AND r.held = 1 AND (r.by_hand = 1 OR j.suspended = 0);

-- name: starts_though_held
SELECT r.id, r.state FROM runs r JOIN jobs j ON j.id = r.job_id
WHERE r.id > :low AND r.id <= :high
  AND j.suspended = 1 AND r.by_hand = 0 AND r.held = 0 AND (r.state = 'ready' OR r.state = 'scheduled');

-- name: suspended_by_nobody
SELECT j.id, j.suspended, j.paused, j.queue, j.resuming FROM jobs j
WHERE j.id > :low AND j.id <= :high AND j.deleted_ms IS NULL AND j.suspended <>
      (j.paused = 1 OR j.resuming IS NOT NULL
       OR EXISTS (SELECT 1 FROM queues q WHERE (q.name = j.queue OR q.name = '') AND q.paused = 1));

-- name: resuming_though_held
SELECT j.id, j.paused, j.queue FROM jobs j
WHERE j.id > :low AND j.id <= :high AND j.resuming IS NOT NULL
  AND (j.deleted_ms IS NOT NULL OR j.paused = 1
       OR EXISTS (SELECT 1 FROM queues q WHERE (q.name = j.queue OR q.name = '') AND q.paused = 1));

-- name: waits_though_held
SELECT j.id, c.next_nominal FROM jobs j JOIN cursors c ON c.job_id = j.id
WHERE j.id > :low AND j.id <= :high
  AND c.next_nominal IS NOT NULL AND (j.suspended = 1 OR j.done = 1 OR j.deleted_ms IS NOT NULL);

-- name: waits_for_left_out
SELECT j.id, c.next_nominal, c.handled_ms, c.skip_until FROM jobs j JOIN cursors c ON c.job_id = j.id
WHERE j.id > :low AND j.id <= :high
  AND j.suspended = 0 AND (c.skip_until > c.handled_ms OR c.skip_until >= c.next_nominal);

-- name: quarantined_unpaused
SELECT id FROM jobs
WHERE id > :low AND id <= :high AND deleted_ms IS NULL AND quarantined = 1 AND paused = 0 AND suspended = 0;

-- name: too_many_letters
SELECT job_id, count(*) FROM runs WHERE job_id > :low AND job_id <= :high AND state = 'dead'
GROUP BY job_id HAVING count(*) > 100;

-- name: follows_nobody
SELECT d.job_id, d.upstream_id FROM dependents d JOIN jobs j ON j.id = d.job_id
LEFT JOIN jobs u ON u.id = d.upstream_id
WHERE d.job_id > :low AND d.job_id <= :high AND j.deleted_ms IS NULL AND (u.id IS NULL OR u.deleted_ms IS NOT NULL);

-- name: version_of_job
SELECT r.id, r.version FROM
    (SELECT id, job_id, version FROM runs WHERE id > :low AND id <= :high
     UNION ALL SELECT id, job_id, version FROM history WHERE id > :low AND id <= :high) r
LEFT JOIN schedule_versions v ON v.job_id = r.job_id AND v.version = r.version WHERE v.job_id IS NULL;

-- name: queue_over_limit
SELECT q.name, q.concurrency, count(*) FROM queues q JOIN runs r ON r.queue = q.name AND r.state = 'running'
WHERE q.concurrency IS NOT NULL GROUP BY q.name HAVING count(*) > q.concurrency;

-- name: job_over_limit
SELECT j.id, count(*) FROM runs r JOIN jobs j ON j.id = r.gate
WHERE j.id > :low AND j.id <= :high
  AND (json_extract(j.policies, '$.limit') IS NOT NULL OR json_extract(j.policies, '$.overlap') <> 'allow')
GROUP BY j.id HAVING count(*) > coalesce(json_extract(j.policies, '$.limit'), 1);

-- name: row_of_run
SELECT r.id, r.key FROM
    (SELECT id, job_id, key, slot_ms FROM runs WHERE id > :low AND id <= :high
     UNION ALL SELECT id, job_id, key, slot_ms FROM history WHERE id > :low AND id <= :high) r
LEFT JOIN occurrences o ON o.from_ms = r.slot_ms AND o.job_id = r.job_id AND o.key = r.key
WHERE CASE WHEN :pruned THEN o.run_id IS NOT NULL AND o.run_id <> r.id ELSE o.run_id IS NOT r.id END;

-- name: run_of_row
SELECT o.run_id, o.key FROM occurrences o
WHERE :pruned = 0 AND o.job_id > :low AND o.job_id <= :high
  AND o.run_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = o.run_id)
  AND NOT EXISTS (SELECT 1 FROM history h WHERE h.id = o.run_id)
  AND NOT EXISTS (SELECT 1 FROM events e WHERE e.run_id = o.run_id AND e.kind IN (
      'run.succeeded', 'run.failed', 'run.cancelled', 'run.skipped', 'run.superseded', 'run.discarded'));

-- name: row_without_reason
SELECT job_id, key FROM occurrences
WHERE job_id > :low AND job_id <= :high AND run_id IS NULL AND reason IS NULL;

-- name: skipped_without_reason
SELECT h.id, h.state FROM history h
JOIN occurrences o ON o.from_ms = h.slot_ms AND o.job_id = h.job_id AND o.key = h.key
WHERE h.id > :low AND h.id <= :high AND (h.state = 'skipped' OR h.state = 'superseded') AND o.reason IS NULL;

-- name: last_event
SELECT r.id, r.state, r.held, e.kind FROM
    (SELECT id, state, held FROM runs WHERE :pruned = 0 AND id > :low AND id <= :high
     UNION ALL SELECT id, state, 0 FROM history WHERE :pruned = 0 AND id > :low AND id <= :high) r
-- Events have no index by run: one look at all of them, not one for each run.
LEFT JOIN (SELECT run_id, max(id) AS id FROM events
           WHERE run_id > :low AND run_id <= :high AND substr(kind, 1, 4) = 'run.' GROUP BY run_id) n ON n.run_id = r.id
LEFT JOIN events e ON e.id = n.id
WHERE e.kind IS NULL OR NOT CASE
    WHEN r.held = 1 THEN e.kind = 'run.held'
    WHEN r.state = 'scheduled' THEN e.kind IN ('run.scheduled', 'run.waiting', 'run.replayed')
    WHEN r.state = 'ready' THEN e.kind IN ('run.ready', 'run.retrying')
    ELSE e.kind = 'run.' || r.state END;

-- name: ends_once
SELECT run_id, count(*) FROM events
WHERE run_id > :low AND run_id <= :high AND kind IN
    ('run.succeeded', 'run.failed', 'run.cancelled', 'run.skipped', 'run.superseded', 'run.discarded')
GROUP BY run_id HAVING count(*) > 1;

-- name: pruned
SELECT EXISTS (SELECT 1 FROM meta WHERE key = 'tidied_through') OR coalesce((SELECT min(id) FROM events), 1) <> 1;

-- name: highest
SELECT max(coalesce((SELECT max(id) FROM runs), 0), coalesce((SELECT max(id) FROM history), 0)),
       coalesce((SELECT max(id) FROM jobs), 0);

-- name: lowest
SELECT min(coalesce((SELECT min(id) FROM runs), 1), coalesce((SELECT min(id) FROM history), 1)) - 1;
