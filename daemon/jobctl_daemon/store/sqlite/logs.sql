-- name: finished
-- Logs of ended attempts with the bytes that they take on disk, in whole blocks, and whose they are, oldest first.
SELECT a.run_id, a.fence, (a.log_size - coalesce(a.log_dropped_to - a.log_dropped_from, 0) + 4095) / 4096 * 4096,
       coalesce(h.owner_id, r.owner_id, 0)
FROM attempts a LEFT JOIN history h ON h.id = a.run_id LEFT JOIN runs r ON r.id = a.run_id
WHERE a.log_size > 0 AND a.log_gone = 0 AND (a.run_id, a.fence) > (?, ?) ORDER BY a.run_id, a.fence LIMIT ?;

-- name: owners
-- Whose these active runs are.
SELECT r.id, r.owner_id FROM json_each(?) ids CROSS JOIN runs r ON r.id = ids.value;

-- name: kept
-- The same of many of them, with the last.
SELECT coalesce(sum((log_size - coalesce(log_dropped_to - log_dropped_from, 0) + 4095) / 4096 * 4096), 0), count(*),
       max(run_id)
FROM (SELECT run_id, log_size, log_dropped_from, log_dropped_to FROM attempts
      WHERE log_size > 0 AND log_gone = 0 AND (run_id, fence) > (:run_id, :fence) ORDER BY run_id, fence LIMIT :limit);

-- name: last_of
-- The last fence of the same many that is of one run.
SELECT max(fence) FROM (SELECT run_id, fence FROM attempts
      WHERE log_size > 0 AND log_gone = 0 AND (run_id, fence) > (:run_id, :fence) ORDER BY run_id, fence LIMIT :limit)
WHERE run_id = :last;

-- name: dropped
-- A log is gone from disk.
UPDATE attempts SET log_gone = 1 WHERE run_id = ? AND fence = ?;

-- name: unknown
-- Logs on disk that are of no active run, and of no attempt whose log is kept.
SELECT json_extract(ids.value, '$[0]'), json_extract(ids.value, '$[1]') FROM json_each(?) ids
WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = json_extract(ids.value, '$[0]'))
  AND NOT EXISTS (SELECT 1 FROM attempts a
                  WHERE a.run_id = json_extract(ids.value, '$[0]') AND a.fence = json_extract(ids.value, '$[1]')
                    AND a.log_gone = 0);

-- name: busy
-- Whether one of these runs is active, or may still be made.
SELECT EXISTS (SELECT 1 FROM runs WHERE id BETWEEN :first AND :last)
    OR :last >= coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'runs'), 0);
