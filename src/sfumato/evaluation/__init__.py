"""Score what a model believes against what people said, and audit the data behind it."""
