-- What was looked up for calls: the query, the gate's word, what went and what nearly went (JSON; keys, no texts of messages
-- beside the query).
CREATE TABLE retrieval_set (
  n INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  session INTEGER NOT NULL REFERENCES session (n),
  body TEXT NOT NULL
) STRICT;
CREATE INDEX retrieval_set_by_session ON retrieval_set (session);

-- What is to be known beyond the message that said it. `session`: the only one in which it holds; NULL for all.
CREATE TABLE memory (
  n INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  session INTEGER REFERENCES session (n),
  version INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX memory_by_session ON memory (session);

-- Steps in the life of items and memories: suggested, pinned, dismissed, confirmed (JSON; no texts).
CREATE TABLE transition (
  n INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (n),
  body TEXT NOT NULL
) STRICT;
CREATE INDEX transition_by_session ON transition (session);
