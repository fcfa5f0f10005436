-- name: next_group
-- The next queue, priority and owner in order that has a ready run: a leap over the index, however many there are.
SELECT queue, priority, owner_id FROM runs
WHERE state = 'ready' AND (queue, priority, owner_id) > (?, ?, ?)
ORDER BY queue, priority, owner_id LIMIT 1;

-- name: next_of
-- The next instant of a group's run that is to be tried later.
SELECT due_ms FROM runs
WHERE state = 'ready' AND queue = ? AND priority = ? AND owner_id = ? AND due_ms > ? ORDER BY due_ms LIMIT 1;

-- name: oldest_of
-- The oldest run of a group that could start now.
SELECT due_ms FROM runs
WHERE state = 'ready' AND queue = ? AND priority = ? AND owner_id = ? AND due_ms <= ? ORDER BY due_ms LIMIT 1;

-- name: waiting_in
-- The runs of a group that could start now, oldest first.
SELECT due_ms, id FROM runs
WHERE state = 'ready' AND queue = :queue AND priority = :priority AND owner_id = :owner_id AND due_ms <= :now_ms
  AND (start_by_ms IS NULL OR start_by_ms >= :now_ms)
ORDER BY due_ms, id LIMIT :limit;

-- name: limits
-- Queues with a limit, and how many of their runs are running.
SELECT q.name, q.concurrency,
       CASE WHEN q.name = 'default'
           THEN (SELECT count(*) FROM runs r WHERE r.gate IS NOT NULL AND r.state = 'running' AND r.queue = 'default')
           ELSE (SELECT count(*) FROM runs r WHERE r.state = 'running' AND r.queue <> 'default' AND r.queue = q.name)
       END
FROM queues q WHERE q.concurrency IS NOT NULL;

-- name: at_work
-- How many runs each owner has running.
SELECT owner_id, count(*) FROM runs INDEXED BY runs_at_work WHERE state = 'running' GROUP BY owner_id;

-- name: roots
-- The owners that are root.
SELECT id FROM owners WHERE uid = 0;
