"""Memory attribution: ask a decision again with single remembered rounds edited, and measure how much each moved it."""
