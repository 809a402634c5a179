"""Turn what people said into label distributions."""
