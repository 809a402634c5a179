"""What a collection is: its settings, the protocols of the papers, the words people read."""
