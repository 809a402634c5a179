"""What reports show, by what it is about."""
