"""Charts that this feature adds."""
