"""Blocking I/O in threads, by a program in C that speaks ioplan's protocol."""

from ioplan.backends import Gap, ProcessBackend


class PthreadsBackend(ProcessBackend):
    name, version = "pthreads", "0.1"

    def command(self, options):
        return [options.get("program", "ioplan-pthreads")]

    def gaps(self, job, options):
        return super().gaps(job, options) + [
            Gap(stream=one.name, field="pause", reason="it has no think time")
            for one in job.streams
            if one.pause_ns
        ]
