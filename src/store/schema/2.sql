-- What was looked up for calls: the query, the gate's word, what went and what nearly went (JSON; keys, no texts of messages
-- beside the query).
CREATE TABLE retrieval_set (
  n INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  session INTEGER NOT NULL REFERENCES session (n),
  body TEXT NOT NULL
) STRICT;
CREATE INDEX retrieval_set_by_session ON retrieval_set (session);

-- The words of a session's messages, for finding older ones: in segments of some thousands of passages, words as hashes. A
-- segment's digest continues the one before it, so that two programs do not mix theirs. Dropped whole when a message is removed.
CREATE TABLE shelf (
  session INTEGER NOT NULL REFERENCES session (n),
  segment INTEGER NOT NULL,
  digest BLOB NOT NULL,
  header BLOB NOT NULL,
  PRIMARY KEY (session, segment)
) STRICT, WITHOUT ROWID;

CREATE TABLE posting (
  session INTEGER NOT NULL,
  term INTEGER NOT NULL,
  segment INTEGER NOT NULL,
  list BLOB NOT NULL,
  PRIMARY KEY (session, term, segment)
) STRICT, WITHOUT ROWID;

-- Summaries. A capsule's text goes when one of its sources is removed for good; its id and hashes stay.
CREATE TABLE capsule (
  n INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (n),
  id BLOB NOT NULL,
  kind TEXT NOT NULL,
  level INTEGER NOT NULL,                -- 1 permanent, 2 session, 3 working
  lane TEXT NOT NULL,
  text TEXT,
  tokens INTEGER NOT NULL,
  generated_at INTEGER NOT NULL,
  body TEXT NOT NULL,                    -- JSON without text and covers
  UNIQUE (session, id)
) STRICT;

-- One row for each message that was read for a capsule, in order.
CREATE TABLE capsule_cover (
  capsule INTEGER NOT NULL REFERENCES capsule (n) ON DELETE CASCADE,
  turn INTEGER NOT NULL,                 -- counts the covered turns from 0
  seq INTEGER NOT NULL,
  user BLOB NOT NULL,
  tip BLOB NOT NULL,
  node BLOB NOT NULL,
  content BLOB NOT NULL,
  PRIMARY KEY (capsule, turn, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX capsule_cover_by_node ON capsule_cover (node);

-- The capsules in use on a branch, one a kind and lane: a JSON array of their ids.
ALTER TABLE branch ADD COLUMN capsules TEXT NOT NULL DEFAULT '[]';

CREATE TABLE metrics (
  n INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (n),
  capsule BLOB NOT NULL,
  original_tokens INTEGER NOT NULL,
  compressed_tokens INTEGER NOT NULL,
  compression_ratio REAL NOT NULL,
  timestamp INTEGER NOT NULL
) STRICT;
CREATE INDEX metrics_by_session ON metrics (session, n);

CREATE VIEW summaries AS
SELECT
  n AS id,
  level,
  text AS content,
  tokens,
  (SELECT json_group_array(lower(hex(node)) ORDER BY turn, seq) FROM capsule_cover AS c WHERE c.capsule = capsule.n)
    AS source_ids,
  generated_at AS created_at
FROM capsule WHERE text IS NOT NULL;

CREATE VIEW thread_summary AS
SELECT session, lane AS thread_key, text AS summary, body ->> '$.turns[0]' AS from_turn,
  body ->> '$.turns[1]' AS to_turn, tokens, generated_at AS updated_at
FROM capsule WHERE kind = 'lane' AND text IS NOT NULL;

CREATE VIEW session_summary AS
SELECT session, text AS summary, body ->> '$.turns[0]' AS from_turn, body ->> '$.turns[1]' AS to_turn, tokens,
  generated_at AS updated_at
FROM capsule WHERE kind = 'session' AND text IS NOT NULL;

-- What is to be known beyond the message that said it. `session`: the only one in which it holds; NULL for all.
CREATE TABLE memory (
  n INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  session INTEGER REFERENCES session (n),
  version INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX memory_by_session ON memory (session);

-- Steps in the life of items and memories: suggested, pinned, leased, renewed, expired, dismissed, confirmed (JSON; no
-- texts). `item` is a hash of what took the step.
CREATE TABLE transition (
  n INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (n),
  item BLOB NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX transition_by_item ON transition (session, item);

-- What a completed turn touched of older ones (JSON; keys, no texts), by the key of its last node.
CREATE TABLE touch (
  session INTEGER NOT NULL REFERENCES session (n),
  node BLOB NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (session, node)
) STRICT, WITHOUT ROWID;

-- Vectors of passages, by the model that made them and the hash of the text; shared by branches and sessions. They go with the
-- message of which they were made.
CREATE TABLE embedding (
  model TEXT NOT NULL,
  key BLOB NOT NULL,
  code BLOB NOT NULL,
  PRIMARY KEY (model, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX embedding_by_key ON embedding (key);

-- Labels and favorites, by the message's key (JSON). They go with the message.
CREATE TABLE tag (
  session INTEGER NOT NULL REFERENCES session (n),
  node BLOB NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (session, node)
) STRICT, WITHOUT ROWID;

-- The branches of races: settings, limits, calls, what they took (JSON; no texts of messages).
CREATE TABLE branch_run (
  n INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (n),
  branch BLOB NOT NULL UNIQUE,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX branch_run_by_session ON branch_run (session, n);

-- The part of a session's word index that still grows, as it stood lately; `before` is the digest of the last segment. A
-- program that starts goes on from here.
CREATE TABLE shelf_tail (
  session INTEGER PRIMARY KEY REFERENCES session (n),
  before BLOB,
  body BLOB NOT NULL
) STRICT;

-- Texts of workspace files before and after tools changed them, for undo; they go with their session.
CREATE TABLE file_text (
  session INTEGER NOT NULL REFERENCES session (n),
  hash BLOB NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (session, hash)
) STRICT, WITHOUT ROWID;

-- Summaries of parts of programs, by workspace folder (JSON; texts of files, none of messages): versions, of which the newest
-- that was not undone counts.
CREATE TABLE module_card (
  n INTEGER PRIMARY KEY,
  root TEXT NOT NULL,
  path TEXT NOT NULL,
  body TEXT NOT NULL,
  undone INTEGER NOT NULL
) STRICT;
CREATE INDEX module_card_by_path ON module_card (root, path, n);
-- Results of tools that are longer than what the model read, and results of calls that a person ran again; they go with the
-- call, and the oldest of a session when there are too many.
CREATE TABLE tool_output (
  n INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (n),
  run BLOB NOT NULL,
  call_id TEXT NOT NULL,
  text TEXT NOT NULL,
  UNIQUE (run, call_id)
) STRICT;
CREATE INDEX tool_output_by_session ON tool_output (session, n);

-- Titles of sessions that a model made, by each message that was read for it: they go with it.
CREATE TABLE made_title (
  session INTEGER NOT NULL REFERENCES session (n),
  node BLOB NOT NULL,
  title TEXT NOT NULL,
  PRIMARY KEY (session, node, title)
) STRICT, WITHOUT ROWID;
