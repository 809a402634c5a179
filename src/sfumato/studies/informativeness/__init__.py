"""Turn a grid of simulated worlds into how much labels of each form tell (paper 2)."""
