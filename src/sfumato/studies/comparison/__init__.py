"""Tables of the papers as comparisons: arms that learn from different labels of the same items."""
