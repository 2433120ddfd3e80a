"""vdbench's parameter files."""
