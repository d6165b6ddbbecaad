-- The schema of a history, version 3, without the view of causes and the seal. Dates are text in UTC, such as `2026-11-21 13:22:06`, so that they sort.

-- The records and findings that were read, so that only what changed is read again.
CREATE TABLE files (
    path TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL
) WITHOUT ROWID;

-- `skipped` cases were judged in part or not at all.
CREATE TABLE campaigns (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    shard TEXT NOT NULL,
    begun TEXT NOT NULL,
    snuffer TEXT NOT NULL,
    candle TEXT NOT NULL,
    seed TEXT NOT NULL,
    imported INTEGER NOT NULL,
    devices TEXT NOT NULL,
    modes TEXT NOT NULL,
    cases INTEGER NOT NULL,
    passed INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    broken INTEGER NOT NULL,
    seconds REAL NOT NULL,
    finished INTEGER NOT NULL,
    UNIQUE (name, shard)
);

-- Verdicts by a property of the case: `part` is op, mode, dtype or view, and `name` its value.
CREATE TABLE counts (
    campaign INTEGER NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    part TEXT NOT NULL,
    name TEXT NOT NULL,
    cases INTEGER NOT NULL,
    passed INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    PRIMARY KEY (campaign, part, name)
) WITHOUT ROWID;
CREATE INDEX counts_by_name ON counts (part, name);

-- Outcomes; the dtype is that of the main input. Older records count by device only: op and dtype are empty then.
CREATE TABLE outcomes (
    campaign INTEGER NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    op TEXT NOT NULL,
    dtype TEXT NOT NULL,
    device TEXT NOT NULL,
    outcome TEXT NOT NULL,
    cases INTEGER NOT NULL,
    PRIMARY KEY (campaign, op, dtype, device, outcome)
) WITHOUT ROWID;

CREATE TABLE skips (
    campaign INTEGER NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    why TEXT NOT NULL,
    cases INTEGER NOT NULL,
    PRIMARY KEY (campaign, why)
) WITHOUT ROWID;

-- Failures by signature and the device that they are charged to. Older records list all devices of the campaign instead.
CREATE TABLE signatures (
    campaign INTEGER NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    signature TEXT NOT NULL,
    device TEXT NOT NULL,
    op TEXT NOT NULL,
    oracle TEXT NOT NULL,
    kind TEXT NOT NULL,
    site TEXT NOT NULL,
    cases INTEGER NOT NULL,
    PRIMARY KEY (campaign, signature, device)
) WITHOUT ROWID;
CREATE INDEX signatures_by_name ON signatures (signature);

-- The findings of the stores: the minimized case in one line, what is wrong with it, and its root cause when it was read.
CREATE TABLE findings (
    signature TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    device TEXT NOT NULL,
    "case" TEXT NOT NULL,
    detail TEXT NOT NULL,
    cause TEXT
) WITHOUT ROWID;

-- A row for each campaign that saw a signature.
CREATE VIEW seen AS
SELECT s.signature, s.op, s.oracle, s.kind, s.site, group_concat(s.device, ', ') AS device, sum(s.cases) AS cases,
    s.campaign, c.name, c.begun, c.candle, c.snuffer, c.devices, c.modes, c.imported
FROM signatures s JOIN campaigns c ON c.id = s.campaign
GROUP BY s.signature, s.campaign;

-- A row for each signature. A campaign could have seen it if it hunted its op on the same devices and in the same modes as one
-- that did. The expected number of sightings is its cases of the op times the signature's failure rate while it was seen. With
-- three or more expected sightings, none is significant: the chance is one in twenty.
CREATE VIEW history AS
WITH sightings AS MATERIALIZED (SELECT * FROM seen),
span AS MATERIALIZED (
    SELECT signature, min(begun) AS first, max(begun) AS last, count(*) AS campaigns, sum(cases) AS cases
    FROM sightings GROUP BY signature
),
comparable AS (SELECT DISTINCT signature, op, devices, modes FROM sightings WHERE NOT imported),
chances AS (
    SELECT o.signature, c.begun, k.cases AS drawn, coalesce(s.cases, 0) AS met
    FROM comparable o
    JOIN counts k ON k.part = 'op' AND k.name = o.op
    JOIN campaigns c ON c.id = k.campaign AND NOT c.imported AND c.devices = o.devices AND c.modes = o.modes
    LEFT JOIN sightings s ON s.signature = o.signature AND s.campaign = c.id
),
missed AS (
    SELECT h.signature,
        1.0 * sum(h.met) / sum(h.drawn) FILTER (WHERE h.begun BETWEEN p.first AND p.last) AS share,
        sum(h.drawn) FILTER (WHERE h.begun < p.first) AS before,
        sum(h.drawn) FILTER (WHERE h.begun > p.last) AS since,
        min(h.begun) FILTER (WHERE h.begun > p.last) AS missed_first,
        max(h.begun) FILTER (WHERE h.begun > p.last) AS missed_last
    FROM chances h JOIN span p USING (signature)
    GROUP BY h.signature
),
-- With a single min() or max(), SQLite takes the other columns from the same row.
early AS (SELECT signature, op, oracle, kind, site, min(begun), name, candle, snuffer, device FROM sightings GROUP BY signature),
late AS (SELECT signature, max(begun), name, candle, snuffer FROM sightings GROUP BY signature)
SELECT e.signature, e.op, e.oracle, e.kind, e.site,
    p.first AS first_seen, e.name AS first_campaign, e.candle AS first_candle, e.snuffer AS first_snuffer,
    e.device AS first_device,
    p.last AS last_seen, l.name AS last_campaign, l.candle AS last_candle, l.snuffer AS last_snuffer,
    p.campaigns, p.cases,
    coalesce(m.share * m.before, 0.0) AS expected_before,
    coalesce(m.share * m.since, 0.0) AS expected_since,
    m.missed_first, m.missed_last
FROM span p JOIN early e USING (signature) JOIN late l USING (signature) LEFT JOIN missed m USING (signature);
