-- Drafts of summaries: at most one a branch, each waiting for a person's decision. `summary` is the id of the summary that
-- the draft would become, `sources` the hash of the messages that it covers. A draft is deleted when one of those is removed
-- for good.
CREATE TABLE summary_draft (
  branch BLOB PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (n),
  summary BLOB NOT NULL,
  sources BLOB NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX summary_draft_by_session ON summary_draft (session);
