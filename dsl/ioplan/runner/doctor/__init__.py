"""What works on a machine, what does not, and the command that mends it."""
