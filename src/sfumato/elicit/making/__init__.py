"""Make a study: images, classes and tables become a folder that can be served."""
