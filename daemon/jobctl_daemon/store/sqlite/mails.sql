-- name: ends
-- Ends of runs whose output is to be mailed, and of the mails, also of one that was done again by hand. What is looked
-- for stands in no text of a job: there a quotation mark has a backslash before it.
SELECT id, at_ms, kind, job_id, run_id, data FROM events
WHERE id > :after
  AND (kind = 'run.succeeded' OR kind = 'run.failed' OR kind = 'run.dead' OR kind = 'run.cancelled'
       OR kind = 'run.skipped')
  AND (instr(data, '"mail":') > 0 OR instr(data, '"key":"mail:') > 0
       OR (kind = 'run.succeeded' AND instr(data, '"name":"mail"') > 0
           AND EXISTS (SELECT 1 FROM jobs j WHERE j.id = job_id AND j.hidden = 1 AND j.source = 'mail')))
ORDER BY id LIMIT :limit;

-- name: of_job
-- A job as its runs are mailed, also when it was deleted.
SELECT coalesce(o.name, '?'), j.source, j.policies FROM jobs j LEFT JOIN owners o ON o.id = j.owner_id WHERE j.id = ?;

-- name: bound
-- As many mails at once as leave the slots to the jobs, unless somebody has said otherwise.
INSERT INTO queues (name, concurrency) VALUES (?, ?) ON CONFLICT (name) DO NOTHING;

-- name: waiting
-- The oldest mails of a carrier that wait, beyond so many of the newest.
SELECT id FROM runs WHERE job_id = :job_id AND (state = 'scheduled' OR state = 'ready')
ORDER BY id DESC LIMIT -1 OFFSET :most;
