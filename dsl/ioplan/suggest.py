"""Near misses: what a misspelt name may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, if any is like it at all."""
    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(word[:80].lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A clause to put behind an error: `, did you mean 'size'?`, or nothing."""
    found = nearest(word, known)
    return f", did you mean {found!r}?" if found else ""
