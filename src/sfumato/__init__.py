"""Learn from the full distribution of human judgment."""
