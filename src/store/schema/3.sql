-- Plans as JSON, as older versions wrote them. They are moved to `plan` little by little; then this stays empty.
ALTER TABLE plan RENAME TO plan_text;

-- Plans, compressed. The first of a group (place 0) stands for itself; each other one was compressed with the plan at place
-- `place & (place - 1)` of its group as its dictionary. A group belongs to one session.
CREATE TABLE plan (
  n INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE,
  session INTEGER,                       -- row of the session that stored it; NULL where that is not known
  branch INTEGER,
  "group" INTEGER NOT NULL,              -- n of the group's first plan
  place INTEGER NOT NULL,
  size INTEGER NOT NULL,                 -- bytes of the JSON
  body BLOB NOT NULL,
  UNIQUE ("group", place)
) STRICT;
CREATE INDEX plan_by_session ON plan (session, n);
CREATE INDEX plan_by_branch ON plan (branch, n);

-- Sessions that were deleted for good, so that backups which still hold them can be told.
CREATE TABLE removed_session (
  id BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;
