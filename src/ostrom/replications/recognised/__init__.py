"""Do models take a game for a test, and do they cooperate otherwise when they do?"""
