"""What is known about a running collection right now, kept up to date in memory."""
