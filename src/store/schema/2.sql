-- What was looked up for calls: the query, the gate's word, what went and what nearly went (JSON; keys, no texts of messages
-- beside the query).
CREATE TABLE retrieval_set (
  n INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  session INTEGER NOT NULL REFERENCES session (n),
  body TEXT NOT NULL
) STRICT;
CREATE INDEX retrieval_set_by_session ON retrieval_set (session);
