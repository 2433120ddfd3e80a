"""`ioplan lab page` of a test's lab, as a person of it."""

import socket
import subprocess
from http.client import HTTPConnection

from small_lab import IOPLAN


class PageServer:
    def __init__(self, lab):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        words = [*IOPLAN, "lab", "page", "--listen", f"127.0.0.1:{self.port}"]
        self.process = subprocess.Popen(
            words, env=lab.ada.env, stdout=subprocess.DEVNULL, cwd=lab.ada.folder
        )
        self.lab = lab

    def get(self, path, **headers):
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, dict(answer.getheaders())

    def answers(self):
        try:
            return self.get("/hosts")[0] == 200
        except OSError:
            return False

    def end(self):
        self.process.terminate()
        self.process.wait(20)
