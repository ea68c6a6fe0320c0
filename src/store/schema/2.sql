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
