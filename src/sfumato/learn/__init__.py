"""Turn images and label distributions into classifiers, and classifiers into predictions."""
