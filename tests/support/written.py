"""A plan that is being written, with a `|` where the cursor is."""

from pathlib import Path

from ioplan_editor import Document, completions, hover

FOLDER = Path("/plans")


def written(text, workspace=None):
    """The document and the cursor; without a `|` it is at the end."""
    before, bar, after = text.partition("|")
    at = len(before) if bar else len(text)
    return Document(FOLDER / "plan.ioplan", before + after, workspace), at


def offered(text):
    """The proposals at the cursor, by their labels."""
    return {one.label: one for one in completions(*written(text))}


def hovered(text):
    """What is said of the cursor's place."""
    found = hover(*written(text))
    return found.markdown if found else ""
