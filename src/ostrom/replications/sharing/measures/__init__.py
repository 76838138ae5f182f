"""What only the meta-analyses count."""
