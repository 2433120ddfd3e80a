"""What one cell, or a whole plan, came to in all sessions that did the same."""
