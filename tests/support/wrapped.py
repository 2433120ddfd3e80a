"""Runs of a true backend of which something is changed on the way."""


class Wrapped:
    """An execution, but for what a subclass does to it."""

    def __init__(self, inner):
        self.inner = inner

    def __iter__(self):
        for event in self.inner:
            yield from self.events(event)

    def events(self, event):
        yield event

    def stop(self):
        self.inner.stop()

    def kill(self):
        self.inner.kill()

    def __enter__(self):
        self.inner.__enter__()
        return self

    def __exit__(self, *why):
        self.inner.__exit__(*why)


class WrappedDrive:
    """A drive whose runs are wrapped."""

    def __init__(self, inner, run):
        self.inner, self.run, self.facts = inner, run, inner.facts

    def start(self, job):
        return self.run(self.inner, job)

    def close(self):
        self.inner.close()
