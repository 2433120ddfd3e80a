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
from selenium.webdriver.common.keys import Keys

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
        start(person)
        watch(person)
        print(compare(person))
        assert chromium.said() == []


def start(person: Person) -> None:
    person.go("Start a plan")
    person.tab_to("Or a text, which has precedence")
    person.type(PLAN)
    person.tab_to("all group")
    person.press(Keys.SPACE)
    person.go("Check and show the cost")
    person.go("Start on all")


def watch(person: Person) -> None:
    """Both lanes are seen at work, then the job has ended, without a reload."""
    person.until(
        lambda: (
            {"h1-drive", "h2-drive"} <= set(person.text().split())
            and "IOPS" in person.text()
        )
    )
    person.until(lambda: len(person.ended_jobs()) == 1)


def compare(person: Person) -> str:
    person.go("Sessions")
    person.until(lambda: refreshed(person) == 2)
    for box in person.driver.find_elements(By.NAME, "session"):
        person.tab_to(str(box.get_attribute("aria-label")))
        person.press(Keys.SPACE)
    person.go("Compare those ticked")
    return person.text()


def refreshed(person: Person) -> int:
    """How many sessions are listed; the page is asked for anew."""
    person.driver.refresh()
    return len(person.driver.find_elements(By.NAME, "session"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
