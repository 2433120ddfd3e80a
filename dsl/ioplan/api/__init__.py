"""ioplan from Python: what `import ioplan` gives. It calls what the commands call."""
