"""What is measured on the tables of a run, one idea per file."""
