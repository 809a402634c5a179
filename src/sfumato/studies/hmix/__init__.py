"""What people see in mixed images: the release of H-Mix next to chapters 4 and 5 of the thesis."""
