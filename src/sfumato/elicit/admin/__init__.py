"""The researcher's own application: what goes on, who stays in the data, what was done."""
