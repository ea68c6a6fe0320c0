-- Ids are 16 bytes (UUIDv7), hashes 32 (BLAKE3). Columns called `body` or `card` hold JSON of a type of the domain.

CREATE TABLE session (
  n INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  title TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  messages INTEGER NOT NULL DEFAULT 0,   -- nodes with content
  branches INTEGER NOT NULL DEFAULT 0,   -- not archived
  used INTEGER NOT NULL DEFAULT 0        -- grows with every use; 0 is never
) STRICT;
CREATE INDEX session_by_update ON session (updated_at, n);
CREATE INDEX session_by_use ON session (used) WHERE used > 0;

-- Large texts, once each.
CREATE TABLE body (
  n INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  text TEXT NOT NULL,
  refs INTEGER NOT NULL
) STRICT;

CREATE TABLE node (
  n INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (n),
  id BLOB NOT NULL UNIQUE,
  key BLOB NOT NULL,
  parent BLOB REFERENCES node (id),
  ord INTEGER NOT NULL,
  role TEXT NOT NULL,
  "end" TEXT NOT NULL,
  at INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  hidden INTEGER NOT NULL,
  imported INTEGER NOT NULL,
  content BLOB,                          -- hash of the parts
  preview TEXT NOT NULL,
  model TEXT,
  name TEXT,
  lane TEXT NOT NULL,
  external_id TEXT,
  parts TEXT,                            -- JSON; a large text stands in `body`, its hash here as `big`
  extra TEXT,                            -- JSON
  UNIQUE (session, key)
) STRICT;
CREATE INDEX node_by_session ON node (session, n);
CREATE INDEX node_by_parent ON node (parent);
CREATE INDEX node_by_origin ON node (session, external_id) WHERE external_id IS NOT NULL;

-- The words of a message as search sees them, wherever they stand.
CREATE VIEW node_text AS
SELECT
  node.n AS n,
  's' || node.session AS session,
  (
    SELECT group_concat(
      coalesce(
        p.value ->> '$.text',
        p.value ->> '$.body',
        (SELECT body.text FROM body WHERE body.hash = unhex(p.value ->> '$.big')),
        ''
      ), char(10) ORDER BY p.key)
    FROM json_each(node.parts) AS p
    WHERE p.value ->> '$.part' IN ('text', 'reply')
  ) AS words
FROM node;

CREATE VIRTUAL TABLE search USING fts5 (
  session, words,
  content = 'node_text', content_rowid = 'n',
  tokenize = 'unicode61 remove_diacritics 2'
);
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);

CREATE TABLE branch (
  n INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (n),
  id BLOB NOT NULL UNIQUE,
  name TEXT NOT NULL,
  head BLOB REFERENCES node (id),
  parent BLOB,
  fork BLOB,
  archived INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  overrides TEXT NOT NULL,
  anchor TEXT,
  reply BLOB,
  used INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX branch_by_session ON branch (session, n);
CREATE INDEX branch_by_head ON branch (head);

CREATE TABLE mark (
  n INTEGER PRIMARY KEY,
  branch INTEGER NOT NULL REFERENCES branch (n) ON DELETE CASCADE,
  target BLOB NOT NULL,
  revision INTEGER NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (branch, target)
) STRICT;

CREATE TABLE state_version (
  session INTEGER NOT NULL REFERENCES session (n),
  version INTEGER NOT NULL,
  node BLOB NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (session, version)
) STRICT;

CREATE TABLE operation (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL REFERENCES session (n),
  undone INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX operation_by_session ON operation (session, seq);

CREATE TABLE plan (
  n INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  body TEXT NOT NULL
) STRICT;

-- One row a call: what the seeds call plan_run.
CREATE TABLE plan_run (
  n INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  session INTEGER NOT NULL REFERENCES session (n),
  branch INTEGER NOT NULL REFERENCES branch (n),
  plan BLOB NOT NULL,
  open INTEGER NOT NULL,                 -- 1 until it is closed; the fence for late results
  owner TEXT,
  after BLOB,
  head BLOB,
  draft TEXT,                            -- JSON of the user message that is not a node yet
  card TEXT NOT NULL
) STRICT;
CREATE INDEX plan_run_by_session ON plan_run (session, n);
CREATE INDEX plan_run_by_plan ON plan_run (plan, n);
CREATE INDEX plan_run_by_branch ON plan_run (branch);
CREATE INDEX plan_run_open ON plan_run (branch) WHERE open = 1;

CREATE TABLE stream_chunk (
  run INTEGER NOT NULL REFERENCES plan_run (n) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE usage_report (
  run INTEGER PRIMARY KEY REFERENCES plan_run (n) ON DELETE CASCADE,
  est_error_pct REAL,                    -- JSON would not give the very same number back
  body TEXT NOT NULL
) STRICT;

CREATE TABLE tool_trace (
  n INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (n),
  run BLOB NOT NULL,
  call_id TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (run, call_id)
) STRICT;
CREATE INDEX tool_trace_by_session ON tool_trace (session, n);

CREATE TABLE token_count (
  key BLOB NOT NULL,
  encoding TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY (key, encoding)
) STRICT, WITHOUT ROWID;

CREATE TABLE setting (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
