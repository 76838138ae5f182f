"""The panels of a report, one file each; the file's name is the panel's name."""
