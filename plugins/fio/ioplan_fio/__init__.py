"""The fio backend: a run becomes a job file, fio's JSON becomes the run's events.

Read in this order: `backend` (what ioplan calls), `gaps` (what fio cannot say),
`jobfile` (what it is given), `execution` (a run), `document` (its output, split and
checked), `timeline` (documents as events), `counts` and `bins` (figures).
"""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
