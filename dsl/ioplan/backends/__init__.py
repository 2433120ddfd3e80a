"""The backend boundary: what does the I/O, and how it is found.

A backend is any object behind the entry-point group `ioplan.backends` that has
the members of `Backend`. It sees one run at a time, never the plan. The shortest
one, and the manual for writing another, is `plugins/sim/ioplan_sim`.

    backend = find("sim")                  # raises BackendError
    drive = backend.open(request)          # a target that I/O can be done on
    with drive.start(job) as execution:    # a run
        for event in execution: ...        # Started, Progress…, Result | Failure
"""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
