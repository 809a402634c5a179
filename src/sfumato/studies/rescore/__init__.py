"""Paper 1 from the stored predictions of its networks: no training."""
