CREATE TABLE IF NOT EXISTS batches (
  id INTEGER PRIMARY KEY,
  batch INTEGER NOT NULL,       -- the number of the batch within the run, from 1
  at REAL NOT NULL,
  event TEXT NOT NULL,          -- planned, uploaded, created, refuted, ended, void, settled
  told TEXT NOT NULL,           -- JSON object: marker and model, file, id at the service, how it ended
  keys BLOB NOT NULL,           -- of a planned batch: the keys of its calls, 16 bytes each
  seal INTEGER NOT NULL
);
