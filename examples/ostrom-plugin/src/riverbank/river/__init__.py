"""A made-up study of farmers along a river."""
