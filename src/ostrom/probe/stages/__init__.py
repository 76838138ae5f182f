"""The stages of the corpus funnel, one file each: what is kept, and the reason for every drop."""
