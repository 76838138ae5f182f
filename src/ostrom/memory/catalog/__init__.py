"""The memories of the catalog, one file each."""
