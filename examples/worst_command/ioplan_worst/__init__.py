"""A command of ioplan in a package of its own; see README.md."""
