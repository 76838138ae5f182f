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

CREATE TABLE calls (
  id INTEGER PRIMARY KEY,           -- as in the journal; calls that are not shown have no row
  voice INTEGER NOT NULL
);

-- Which texts hold a word; the texts themselves stay in the journal. Text i of a call has the row (i << 60) + call.
CREATE VIRTUAL TABLE words USING fts5 (text, content='', columnsize=0, detail=none, tokenize='ascii');
