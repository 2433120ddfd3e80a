"""Two sides, each one session or several: what is better, worse, or undecided."""
