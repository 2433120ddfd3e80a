"""A device that ioplan owns, and what a backend did on it: asked, told, seen."""
