-- An owner is a uid with the name it had: an account that is given an old number, or an old name, inherits nothing.
-- Made again, because SQLite cannot drop a UNIQUE in place; without a rename, which would look into the views.
CREATE TABLE owners_kept AS SELECT id, uid, name FROM owners;
DROP TABLE owners;
CREATE TABLE owners (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    uid  INTEGER NOT NULL,
    name TEXT NOT NULL,
    UNIQUE (uid, name)
) STRICT;
INSERT INTO owners (id, uid, name) SELECT id, uid, name FROM owners_kept;
DROP TABLE owners_kept;

CREATE INDEX owners_name ON owners (name);
