"""ioplan: storage test plans as text, run on any backend, in one schema.

    import ioplan

    plan = ioplan.check("test.ioplan")
    session = ioplan.run(plan, target="scratch.bin", create="1GiB")
    session.held, session.frame(), session.report("report.html")

See `ioplan.api`; it is loaded when it is first used.
"""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
