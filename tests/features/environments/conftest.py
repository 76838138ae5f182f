"""Scripts that run where the packages of others are installed are no tests."""

collect_ignore = ["scripts"]
