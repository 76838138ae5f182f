"""Which remembered rounds moved a decision: edits of one past, asked again, and what each changed."""
