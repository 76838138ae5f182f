"""The games of the catalog, one file each."""
