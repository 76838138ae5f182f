CREATE TABLE IF NOT EXISTS unit_rows (
  unit INTEGER PRIMARY KEY,
  made BLOB NOT NULL,           -- the rows of a unit that is done (see unit_rows.py)
  refused TEXT,                 -- JSON object: calls that were declined, by player; NULL for none
  of INTEGER NOT NULL,          -- the sum of the seals of the answers, the moves and the end they were made from
  seal INTEGER NOT NULL
);
