"""What an outcome owes to the wording of prompts."""
