"""A page on this machine to walk through one's items, people's answers and models' beliefs."""
