"""The kinds of chart that a study file can declare, one file each."""
