"""Finished runs as pages of the documentation, and a scoreboard of the papers' claims."""
