"""Other tools' jobs and results, brought in: what they ask as a plan, what they found
as records.

`fio` reads job files as fio does; `vdbench` and `fiosynth` their formats. Each makes
an `outline` of the plan, which `sharing` shortens as a person would (params, a common
workload, matrices) and `writer` writes. What cannot be said is a `Finding` at its
place in the file that was read: nothing is dropped in silence.
"""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
