"""Bring the rooms together: from judgments to one page about what the labels were worth."""
