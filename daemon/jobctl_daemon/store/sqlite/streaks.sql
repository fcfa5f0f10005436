-- name: skipped
-- Once more in a row.
INSERT INTO streaks (job_id, skips) VALUES (?, 1)
ON CONFLICT (job_id) DO UPDATE SET skips = skips + 1
RETURNING skips;

-- name: died
-- One dead letter more in a row.
INSERT INTO streaks (job_id, deaths) VALUES (?, 1)
ON CONFLICT (job_id) DO UPDATE SET skips = 0, deaths = deaths + 1
RETURNING deaths;

-- name: ended
-- Something ran: no skip is the last one's follower.
UPDATE streaks SET skips = 0 WHERE job_id IN (SELECT value FROM json_each(?)) AND skips > 0;

-- name: succeeded
-- Nothing is in a row any more.
DELETE FROM streaks WHERE job_id IN (SELECT value FROM json_each(?));

-- name: forget_deaths
-- A person has looked at it.
UPDATE streaks SET deaths = 0 WHERE job_id = ?;
