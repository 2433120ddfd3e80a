"""The language server: a document as an editor has it, and what it offers for it.

`document` is a text with its errors; `look`, `complete` and `fix` answer for a place in
it; `serve` speaks the protocol.
"""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
