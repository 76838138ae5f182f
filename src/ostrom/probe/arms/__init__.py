"""What an adapter is trained on: forward-looking replies, matched others, or the same replies on other prompts."""
