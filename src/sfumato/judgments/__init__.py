"""What people were asked and what they said."""
