-- name: get
-- What an idempotency key stands for.
SELECT body_hash, job_id, run_id, batch FROM requests WHERE owner_id = ? AND key = ? AND verb = ?;

-- name: put
-- Keeps a key with what it made.
INSERT INTO requests (owner_id, key, verb, body_hash, job_id, run_id, batch, at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?);
