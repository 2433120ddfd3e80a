"""The hook of the lab file: a command or an address, told of each drive job's end.

It is of this host's own lab file alone. It ends nothing, and nothing waits for it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from http.client import HTTPException
from pathlib import Path
from threading import Lock, Semaphore, Thread
from urllib.request import Request, urlopen

from ioplan_lab.host.drive_job import JobState
from ioplan_lab.host.folder import JobFolder

MOST_S, AT_ONCE = 30.0, 4
OF_JOB = {"session", "job", "person", "host", "drives", "title"}
OF_STATE = {"status", "exit_code", "runs", "unmet", "message", "round"}


class Hook:
    """Tells it; a folder keeps that it was told, or why that failed."""

    def __init__(self, words: tuple[str, ...], most_s: float = MOST_S) -> None:
        self.words, self.most_s = words, most_s
        self.at_work, self.changing = set[Path](), Lock()
        self.places = Semaphore(AT_ONCE)

    def is_told(self, folder: JobFolder) -> bool:
        """Whether nothing is left to do."""
        return not self.words or folder.hook_file.exists()

    def tell(self, folder: JobFolder, state: JobState) -> None:
        """Begin, unless that is under way; never fails."""
        with self.changing:
            if folder.path not in self.at_work:
                self.at_work.add(folder.path)
                # a daemon: nobody waits for it at the worker's end
                Thread(target=self._tell, args=(folder, state), daemon=True).start()

    def _tell(self, folder: JobFolder, state: JobState) -> None:
        try:
            with self.places:
                why = self._failure(text_of(folder, state))
            if why:
                print(f"hook: {state.session}: {why}", file=sys.stderr, flush=True)
                message = f"{state.message}\nthe hook failed: {why}".strip()
                folder.write_state(state.model_copy(update={"message": message}))
            folder.hook_file.touch()
        except OSError as error:  # a full disk: it is told again
            print(f"hook: {state.session}: {error}", file=sys.stderr, flush=True)
        finally:
            with self.changing:
                self.at_work.discard(folder.path)

    def _failure(self, text: str) -> str:
        try:
            if self.words[0].startswith(("http://", "https://")):
                kind = {"Content-Type": "application/json"}
                asked = Request(self.words[0], text.encode(), kind)
                urlopen(asked, timeout=self.most_s).close()
                return ""
            done = subprocess.run(
                self.words,
                input=text.encode(),
                capture_output=True,
                timeout=self.most_s,
                cwd="/",
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"it has not ended after {self.most_s:g} s"
        except (OSError, HTTPException, ValueError) as error:
            return str(error) or type(error).__name__
        if not done.returncode:
            return ""
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        return f"exit code {done.returncode}: {last}".removesuffix(": ")


def text_of(folder: JobFolder, state: JobState) -> str:
    """What it is told, as JSON."""
    job = folder.call().model_dump(mode="json", include=OF_JOB)
    return json.dumps(job | state.model_dump(mode="json", include=OF_STATE))
