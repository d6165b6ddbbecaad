-- A row for each root cause that the findings of the stores have. One without a known cause is a row of its own.
CREATE VIEW causes AS
SELECT f.cause, coalesce(f.cause, h.signature) AS name, min(h.first_seen) AS first_seen, max(h.last_seen) AS last_seen,
    count(*) AS signatures, sum(h.cases) AS cases
FROM history h JOIN findings f USING (signature)
GROUP BY coalesce(f.cause, h.signature);
