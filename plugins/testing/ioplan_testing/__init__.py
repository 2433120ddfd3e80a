"""The conformance kit: what any backend must pass, a stranger's included.

    from ioplan_testing import Conformance

    class TestMine(Conformance):
        def backend(self):
            return MyBackend()

        def request(self, folder):
            return TargetRequest(path=f"{folder}/t", create_bytes=8 << 20, writes=True)

pytest collects the tests of the class. What the backend's own `gaps` leave out is
skipped with the backend's reason; what it calls exact is measured to be so, and seen
by a device that logs each I/O, where the target is a file. Needs
pytest, which ioplan itself does not.
"""

from ioplan.core.face import face

__getattr__, __dir__ = face(__name__, __file__)
