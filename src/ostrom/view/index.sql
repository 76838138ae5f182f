-- Derived from the journal, deleted and written anew at any time. Nothing but the indexer writes it.
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

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

CREATE TABLE matches (
  match INTEGER PRIMARY KEY,
  kind TEXT,
  state TEXT,                       -- open, done, skipped, failed, damaged
  reason TEXT,
  times INTEGER,                    -- how often it came to an end, as in the journal; 0: it is open
  steps INTEGER,
  cell INTEGER,
  seed INTEGER,
  game TEXT,
  mechanism TEXT,
  agents TEXT,                      -- JSON list of the names of its players
  roles TEXT,                       -- JSON list: the role of each player in the game
  models TEXT,                      -- JSON list: the model of each player, null for a strategy or a person
  rounds INTEGER,
  scores TEXT,                      -- JSON list
  score REAL,                       -- the mean of the scores
  cooperation REAL,                 -- the share of cooperative actions
  outcome TEXT,                     -- the last round: one sign per player
  first_defection INTEGER,          -- the first round with a defection
  strips TEXT,                      -- JSON list: for each player one sign per round
  readings TEXT,                    -- JSON object: reading: how often
  complaints INTEGER,               -- replies that could not be read
  policies INTEGER,                 -- decisions that a policy took
  calls INTEGER NOT NULL DEFAULT 0,
  errors INTEGER NOT NULL DEFAULT 0,
  tokens_in INTEGER NOT NULL DEFAULT 0,
  tokens_out INTEGER NOT NULL DEFAULT 0,
  usd REAL NOT NULL DEFAULT 0,
  unpriced INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX matches_cell ON matches (cell);
CREATE INDEX matches_state ON matches (state);
CREATE INDEX matches_outcome ON matches (outcome);
CREATE INDEX matches_cooperation ON matches (cooperation);
CREATE INDEX matches_first_defection ON matches (first_defection);
CREATE INDEX matches_complaints ON matches (complaints);
CREATE INDEX matches_errors ON matches (errors);
CREATE INDEX matches_usd ON matches (usd);
CREATE INDEX matches_score ON matches (score);

CREATE TABLE spoken (
  call INTEGER PRIMARY KEY,         -- id of the call in the journal
  match INTEGER NOT NULL,
  step INTEGER NOT NULL,
  player INTEGER NOT NULL,
  voice INTEGER NOT NULL
);

CREATE VIRTUAL TABLE words USING fts5 (
  prompt, reply, reasoning, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2'
);
