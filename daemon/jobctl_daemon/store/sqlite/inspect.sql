-- name: tables
-- What can be damaged one by one.
SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name;
