"""What `verify` knows of a target, kept on another host that keeps its power."""
