"""The mechanisms of the catalog, one file each."""
