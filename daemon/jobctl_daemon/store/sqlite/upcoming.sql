-- name: timed
-- Jobs that wait for an instant, after a place in their order. Only so many cursors are looked at, whosever they are:
-- who owns few among many holds nobody up.
SELECT j.id, j.uid, j.name, coalesce(v.schedule, ''), c.next_nominal, c.handled_ms, c.skip_until, 0, j.policies
FROM (SELECT job_id FROM cursors
      WHERE next_nominal IS NOT NULL AND next_nominal <= :until_ms AND (next_nominal, job_id) > (:after_ms, :after_id)
      ORDER BY next_nominal, job_id LIMIT :limit) near
CROSS JOIN cursors c ON c.job_id = near.job_id
CROSS JOIN jobs j ON j.id = c.job_id
LEFT JOIN schedule_versions v ON v.job_id = j.id AND v.version = j.version
LEFT JOIN last_runs l ON l.job_id = j.id
WHERE j.deleted_ms IS NULL AND j.hidden = 0 AND (:owner_id IS NULL OR j.owner_id = :owner_id) AND ({condition})
ORDER BY c.next_nominal, c.job_id;

-- name: timed_ids
-- The same, their ids alone.
SELECT j.id
FROM (SELECT job_id FROM cursors
      WHERE next_nominal IS NOT NULL AND next_nominal <= :until_ms AND (next_nominal, job_id) > (:after_ms, :after_id)
      ORDER BY next_nominal, job_id LIMIT :limit) near
CROSS JOIN cursors c ON c.job_id = near.job_id
CROSS JOIN jobs j ON j.id = c.job_id
LEFT JOIN last_runs l ON l.job_id = j.id
WHERE j.deleted_ms IS NULL AND j.hidden = 0 AND (:owner_id IS NULL OR j.owner_id = :owner_id) AND ({condition})
ORDER BY c.next_nominal, c.job_id;

-- name: timed_last
-- The last of the cursors that were looked at; none when they were fewer.
SELECT next_nominal, job_id FROM cursors
WHERE next_nominal IS NOT NULL AND next_nominal <= :until_ms AND (next_nominal, job_id) > (:after_ms, :after_id)
ORDER BY next_nominal, job_id LIMIT 1 OFFSET :limit - 1;

-- name: held
-- The ids of jobs that a pause holds. The index's own predicate is repeated, or it is not used.
SELECT id FROM jobs
WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0 AND suspended = 1 AND resuming IS NULL
  AND (:owner_id IS NULL OR owner_id = :owner_id);

-- name: of_ids
-- The same facts of certain jobs, in their order.
SELECT j.id, j.uid, j.name, coalesce(v.schedule, ''), c.next_nominal, coalesce(c.handled_ms, j.created_ms), c.skip_until,
       j.suspended = 1 AND j.resuming IS NULL, j.policies
FROM json_each(:job_ids) wanted CROSS JOIN jobs j ON j.id = wanted.value
LEFT JOIN schedule_versions v ON v.job_id = j.id AND v.version = j.version
LEFT JOIN cursors c ON c.job_id = j.id
LEFT JOIN last_runs l ON l.job_id = j.id
WHERE j.deleted_ms IS NULL AND ({condition})
ORDER BY wanted.key;

-- name: states
-- The one word of certain jobs.
SELECT f.id, f.state FROM json_each(?) wanted CROSS JOIN job_facts f ON f.id = wanted.value;

-- name: waiting
-- Jobs with runs that are due and have not begun, and since when the first of each is; those that wait longest first.
SELECT r.job_id, min(r.due_ms) AS since_ms
FROM runs r CROSS JOIN jobs j ON j.id = r.job_id
LEFT JOIN cursors c ON c.job_id = j.id
LEFT JOIN last_runs l ON l.job_id = j.id
WHERE (r.state = 'scheduled' OR r.state = 'ready') AND r.held = 0 AND r.attempt = 0 AND r.due_ms <= :now_ms
  AND j.deleted_ms IS NULL AND j.hidden = 0 AND (:owner_id IS NULL OR r.owner_id = :owner_id) AND ({condition})
GROUP BY r.job_id ORDER BY since_ms, r.job_id LIMIT :limit;
