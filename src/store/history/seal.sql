-- One row: the checksum over the schema and all other tables.
CREATE TABLE seal (sum INTEGER NOT NULL);
INSERT INTO seal VALUES (0);
