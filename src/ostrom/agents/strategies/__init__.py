"""The strategies of the catalog, one file each."""
