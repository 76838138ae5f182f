CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS units (
  unit INTEGER PRIMARY KEY,
  state TEXT NOT NULL,          -- done, skipped, failed, withdrawn
  reason TEXT,
  steps INTEGER NOT NULL,
  scores TEXT,                  -- JSON list, one number per player
  facts TEXT,                   -- JSON object
  times INTEGER NOT NULL,       -- how often it came to an end: a unit that failed may be played again
  seal INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS answers (
  unit INTEGER NOT NULL,
  step INTEGER NOT NULL,
  player INTEGER NOT NULL,
  part TEXT NOT NULL,           -- '' for the decision itself, else a question within it
  value TEXT NOT NULL,          -- JSON
  reading TEXT NOT NULL,
  probabilities TEXT,           -- JSON object
  note TEXT,
  facts TEXT,                   -- JSON object
  complaints INTEGER NOT NULL,  -- replies that could not be read before this answer
  question INTEGER,             -- what was asked, in questions; NULL for a question within a decision
  seal INTEGER NOT NULL,        -- checksum of the row
  PRIMARY KEY (unit, step, player, part)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS questions (
  id INTEGER PRIMARY KEY,
  asked TEXT NOT NULL UNIQUE,   -- kind and form of a decision: a replay that asks anything else is refused
  seal INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS calls (
  id INTEGER PRIMARY KEY,
  unit INTEGER NOT NULL,
  step INTEGER NOT NULL,
  player INTEGER NOT NULL,
  part TEXT NOT NULL,
  try INTEGER NOT NULL,
  at REAL NOT NULL,
  model TEXT NOT NULL,
  key BLOB NOT NULL,            -- hash of everything that decides the reply
  prompt INTEGER NOT NULL,      -- the package in prompts that holds what was asked
  nth INTEGER NOT NULL,         -- its place in that package, from 0
  params TEXT NOT NULL,         -- JSON object
  reply TEXT,
  reasoning TEXT,
  reasoning_kind TEXT,
  finish TEXT,
  tokens_in INTEGER,
  tokens_out INTEGER,
  tokens_cached INTEGER,
  tokens_reasoning INTEGER,
  usd REAL,
  logprobs TEXT,                -- JSON object
  version TEXT,
  latency REAL,
  source TEXT NOT NULL,         -- live, cache
  error TEXT,
  status INTEGER,
  seal INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS calls_place ON calls (unit, step, player);

CREATE TABLE IF NOT EXISTS prompts (
  id INTEGER PRIMARY KEY,
  texts BLOB NOT NULL,          -- zlib, JSON list: for each call that was written together its list of messages
  seal INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS plays (
  unit INTEGER PRIMARY KEY,
  rounds INTEGER NOT NULL,
  intended BLOB NOT NULL,       -- one bit per round and seat: 1 where the seat chose to cooperate
  seal INTEGER NOT NULL
);
