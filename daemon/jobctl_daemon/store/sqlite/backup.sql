-- name: begin
-- Any read begins the snapshot.
SELECT count(*) FROM sqlite_schema;

-- name: described
-- What a copy holds: its schema, live jobs, runs, and when the newest of it was written.
SELECT (SELECT max(number) FROM migrations),
       (SELECT count(*) FROM jobs WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0),
       (SELECT count(*) FROM runs) + (SELECT count(*) FROM history),
       (SELECT max(at_ms) FROM (SELECT at_ms FROM events ORDER BY id DESC LIMIT 1));
