"""Turn tables of results into drawings, sentences and one page that needs nothing else."""
