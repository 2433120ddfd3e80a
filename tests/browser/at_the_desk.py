"""A person starts, watches and compares a plan of two hosts.

    python at_the_desk.py URL TOKEN FOLDER

A program of its own, since it runs in the network namespace of the desk.
"""

from __future__ import annotations

import sys
from pathlib import Path

from chromium import browser
from person import Person
from selenium.webdriver.common.by import By

PLAN = """plan "Of two hosts"
test "T" {
run random 4KiB 100/0 for 1s
vary qd in 1, 2, 4
expect errors == 0
}
"""


def main(url: str, token: str, folder: Path) -> None:
    """Print what the last page shows."""
    with browser(folder) as chromium:
        chromium.size(1280)
        person = Person(chromium, url)
        person.sign_in(token)
        person.start(PLAN, "all", "all group")
        watch(person)
        person.go("Sessions")
        person.until(lambda: refreshed(person) == 2)
        person.compare_all()
        print(person.text())
        assert chromium.said() == []


def watch(person: Person) -> None:
    """Both lanes are seen at work, then the job has ended, without a reload."""
    seen = {"h1-drive", "h2-drive", "IOPS"}
    person.until(lambda: seen <= set(person.text().split()))
    person.until(lambda: len(person.ended_jobs()) == 1)


def refreshed(person: Person) -> int:
    """How many sessions are listed; the page is asked for anew."""
    person.driver.refresh()
    return len(person.driver.find_elements(By.NAME, "session"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
