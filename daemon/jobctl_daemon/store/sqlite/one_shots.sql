-- name: retire
-- A one-shot with no instant to come and nothing active is done.
UPDATE jobs SET done = 1, rev = rev + 1
WHERE id IN (SELECT value FROM json_each(?)) AND one_shot = 1 AND done = 0 AND suspended = 0
  AND NOT EXISTS (SELECT 1 FROM cursors c WHERE c.job_id = jobs.id AND c.next_nominal IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.job_id = jobs.id)
RETURNING id, owner_id, name;
