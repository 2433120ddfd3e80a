"""A backend from a program that speaks the protocol of jobs and events.

    from ioplan.process.backend import ProcessBackend

    class MyBackend(ProcessBackend):
        name = "mine"

        def command(self, options):
            return ["my-program"]

`docs/protocol.md` is for whoever writes the program; ioplan's own engine speaks it too.
"""
