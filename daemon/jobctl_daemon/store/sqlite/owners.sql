-- name: put
-- Makes the owner known, and follows a change of name.
INSERT INTO owners (uid, name) VALUES (?, ?)
ON CONFLICT (uid) DO UPDATE SET name = excluded.name WHERE name <> excluded.name;

-- name: id_of_uid
-- The owner behind a uid.
SELECT id FROM owners WHERE uid = ?;
