"""What labels are about: ids and contents of pictures or vectors, from files and tables."""
