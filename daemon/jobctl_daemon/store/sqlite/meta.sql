-- name: all
-- Everything the daemon noted about itself.
SELECT key, value FROM meta;

-- name: get
-- One note.
SELECT value FROM meta WHERE key = ?;

-- name: put
-- Writes a note, whether it is there or not.
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: drop
-- Forgets a note.
DELETE FROM meta WHERE key = ?;
