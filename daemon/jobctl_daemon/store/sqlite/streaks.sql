-- name: skipped
-- Once more in a row.
INSERT INTO streaks (job_id, skips) VALUES (?, 1)
ON CONFLICT (job_id) DO UPDATE SET skips = skips + 1
RETURNING skips, habit;

-- name: habit
-- So many in a row that somebody should know.
UPDATE streaks SET habit = 1 WHERE job_id = ?;

-- name: died
-- One dead letter more in a row.
INSERT INTO streaks (job_id, deaths) VALUES (?, 1)
ON CONFLICT (job_id) DO UPDATE SET skips = 0, deaths = deaths + 1
RETURNING deaths;

-- name: ended
-- Something ran: no skip is the last one's follower.
UPDATE streaks SET skips = 0 WHERE job_id IN (SELECT value FROM json_each(?)) AND skips > 0;

-- name: clean
-- Nothing is in a row any more; a habit ends with a success that skipped nothing.
DELETE FROM streaks WHERE job_id IN (SELECT value FROM json_each(?)) AND (skips = 0 OR habit = 0);

-- name: succeeded
-- The habit stays.
UPDATE streaks SET skips = 0, deaths = 0 WHERE job_id IN (SELECT value FROM json_each(?));

-- name: forget_deaths
-- A person has looked at it.
UPDATE streaks SET deaths = 0 WHERE job_id = ?;
