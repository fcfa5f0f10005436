-- name: strange
-- Whether a run is in no known state.
SELECT 1 FROM runs WHERE state NOT IN ('scheduled', 'ready', 'running', 'dead') LIMIT 1;

-- name: bury
-- What is in no known state would hold its job's gate for ever, and no list would have it.
UPDATE runs SET state = 'dead', gate = NULL, held = 0, waits = 0, ended_ms = coalesce(ended_ms, claimed_ms, due_ms),
                outcome = 'policy', failure_class = 'policy', fingerprint = 'spoilt',
                reason = 'its row was spoilt: its state was ' || quote(state)
WHERE state NOT IN ('scheduled', 'ready', 'running', 'dead')
RETURNING id, job_id, owner_id, key, reason;

-- name: orphans
-- Whether a live job is of nobody.
SELECT 1 FROM jobs WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0 AND owner_id NOT IN (SELECT id FROM owners) LIMIT 1;

-- name: put_me
-- The daemon's user, where it has no job yet.
INSERT INTO owners (uid, name) SELECT :uid, 'uid ' || :uid WHERE NOT EXISTS (SELECT 1 FROM owners WHERE uid = :uid);

-- name: take_jobs
-- Jobs of nobody; one whose name is taken stays.
UPDATE OR IGNORE jobs SET owner_id = (SELECT min(id) FROM owners WHERE uid = :uid), rev = rev + 1
WHERE deleted_ms IS NULL AND owner_id NOT IN (SELECT id FROM owners);

-- name: take_runs
-- And their runs.
UPDATE runs SET owner_id = (SELECT min(id) FROM owners WHERE uid = :uid) WHERE owner_id NOT IN (SELECT id FROM owners);
