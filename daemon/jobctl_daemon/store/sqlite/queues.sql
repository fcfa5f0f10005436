-- name: of_all
-- Queues that jobs are in, with :known also those that somebody set. What a queue is set to is told to who names it.
SELECT n.name, q.concurrency,
       (SELECT count(*) FROM jobs j WHERE j.queue = n.name AND j.deleted_ms IS NULL AND j.hidden = 0 AND j.done = 0
        AND (:owner_id IS NULL OR j.owner_id = :owner_id)),
       (SELECT count(*) FROM runs r WHERE r.state = 'ready' AND r.queue = n.name
        AND (:owner_id IS NULL OR r.owner_id = :owner_id)),
       (SELECT count(*) FROM runs r WHERE r.gate IS NOT NULL AND r.state = 'running' AND r.queue = n.name
        AND (:owner_id IS NULL OR r.owner_id = :owner_id)),
       coalesce(q.paused, 0), q.paused_by, q.paused_since, q.paused_until, q.paused_why
FROM (SELECT name FROM queues WHERE name <> '' AND (:known OR name = :name)
      UNION SELECT queue FROM jobs
      WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0 AND (:owner_id IS NULL OR owner_id = :owner_id)) n
LEFT JOIN queues q ON q.name = n.name
WHERE :name IS NULL OR n.name = :name
ORDER BY n.name;

-- name: daemon
-- The daemon's own pause.
SELECT '', NULL, 0, 0, 0, paused, paused_by, paused_since, paused_until, paused_why
FROM queues WHERE name = '' AND paused = 1;

-- name: set
-- How many of a queue's runs may run at once.
INSERT INTO queues (name, concurrency) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET concurrency = excluded.concurrency;
