"""Fish, Gonczarowski and Shorrer (2024), Algorithmic Collusion by Large Language Models: sellers that set prices."""
