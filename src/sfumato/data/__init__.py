"""Data sets: where they come from, what is here, and their images."""
