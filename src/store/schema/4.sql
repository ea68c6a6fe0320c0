-- What became of the items of a call: by what evidence its answer used each (JSON; hashes and kinds of evidence, no texts).
-- NULL where that was not looked for: imported conversations, calls of older versions, calls that failed.
ALTER TABLE plan_run ADD COLUMN uses TEXT;
