"""What a study takes before it is played: rehearsal, forecast, and batteries sized to a budget."""
