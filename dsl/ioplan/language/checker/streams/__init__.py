"""What a stream is drafted from, and what excludes what in it."""
