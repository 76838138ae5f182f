-- Derived from the journal, deleted and written anew at any time. Nothing but the indexer writes it.
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE journals (
  number INTEGER PRIMARY KEY,       -- from 0; a joined run has one for each shard, in their order
  before INTEGER NOT NULL,          -- the number after which its calls begin
  calls INTEGER NOT NULL,           -- the last call that is indexed
  of_calls INTEGER NOT NULL,        -- the last call that it had when it was looked at
  seal INTEGER,                     -- of the last call that is indexed
  hidden TEXT NOT NULL              -- JSON list: its matches with calls that are not shown
);

CREATE TABLE cells (
  id INTEGER PRIMARY KEY,
  levels TEXT NOT NULL UNIQUE       -- JSON object: factor: level
);

CREATE TABLE voices (
  id INTEGER PRIMARY KEY,
  cell INTEGER NOT NULL,
  agent TEXT NOT NULL,
  UNIQUE (cell, agent)
);

CREATE TABLE segments (
  first INTEGER PRIMARY KEY,        -- id of its first call in the journal
  last INTEGER NOT NULL,
  voices BLOB NOT NULL              -- zlib, 4 bytes a call from the first to the last: its voice, 0 if it is not shown
);

CREATE TABLE postings (
  first INTEGER NOT NULL,           -- the segment
  word TEXT NOT NULL,               -- behind a letter for where it stands: p(rompt), r(eply), t(hought)
  hits BLOB NOT NULL,               -- the calls that hold it (see postings.py)
  PRIMARY KEY (first, word)
) WITHOUT ROWID;
