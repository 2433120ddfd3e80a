"""What can be called, and with which words.

Nothing here imports what a command does, so that help and completion answer at once.
To add a command: an entry here, and the function that it names in `cli/commands`; or
a plug-in (`plugins.py`).
"""
