"""What a worker of pytest-xdist gets: all that a file still has, one file at a time.

So an expensive fixture of a file is made once. What is marked comes first (`markers`),
and what is quick fills the end.
"""

import pytest
from xdist.scheduler import LoadScheduling


class FileScheduling(LoadScheduling):
    """xdist's own, but that it divides no file, and sends none before it is needed."""

    def check_schedule(self, node, duration=0):
        if node.shutting_down:
            return
        if not self.pending:
            node.shutdown()
        elif len(self.node2pending[node]) < 2:  # a worker looks one test ahead
            self._send_tests(node, 1)

    def _send_tests(self, node, num):
        while num < len(self.pending) and self._file(num - 1) == self._file(num):
            num += 1
        super()._send_tests(node, num)

    def _file(self, place):
        assert self.collection
        return self.collection[self.pending[place]].partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    config.option.maxschedchunk = 1
    return FileScheduling(config, log)
