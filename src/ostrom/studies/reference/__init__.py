"""Published figures, as data: what a run is held against, and where the sources disagree with themselves."""
