-- name: last_event
-- The number of the newest event that a database has given out.
SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events';

-- name: since
-- How many events of each kind came after one. What a command without a job is recorded as is no change of jobs.
SELECT e.kind, count(*)
FROM events e LEFT JOIN jobs j ON j.id = e.job_id
WHERE e.id > :last AND NOT (substr(e.kind, 1, 4) = 'job.' AND coalesce(j.hidden, 0))
GROUP BY e.kind;
