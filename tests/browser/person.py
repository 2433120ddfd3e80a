"""A person at the desk's pages, who has a keyboard and no mouse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chromium import Browser
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait


class Person:
    """Presses keys, and sees what is on the page."""

    def __init__(self, chromium: Browser, url: str) -> None:
        self.browser, self.driver, self.url = chromium, chromium.driver, url

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def type(self, text: str) -> None:
        """Each sign is a key, too, but they are sent at once."""
        self.driver.switch_to.active_element.send_keys(text)

    def tab_to(self, name: str, most: int = 60) -> None:
        """Tab until the focus is on what is called so."""
        for _ in range(most):
            if self.focused() == name:
                return
            self.press(Keys.TAB)
        raise AssertionError(f"no {name!r} by {most} tabs on {self.driver.current_url}")

    def focused(self) -> str:
        script = r"""const e = document.activeElement;
          const name = e.getAttribute("aria-label") || e.labels?.[0]?.innerText;
          return (name || e.innerText || "").trim().replace(/\s+/g, " ")"""
        found: str = self.driver.execute_script(script)
        return found

    def text(self) -> str:
        return self.driver.find_element(By.TAG_NAME, "body").text

    def until(self, seen: Callable[..., Any]) -> None:
        WebDriverWait(self.driver, 60, 0.05).until(lambda _: seen())

    def go(self, name: str) -> None:
        """Follow a link, or push a button, and wait for another page."""
        self.tab_to(name)
        before = self.driver.find_element(By.TAG_NAME, "html").id
        self.press(Keys.ENTER)
        self.until(lambda: self.driver.find_element(By.TAG_NAME, "html").id != before)

    def sign_in(self, token: str) -> None:
        self.driver.delete_all_cookies()
        self.driver.get(self.url)
        assert self.focused() == "Your token"
        self.type(token)
        self.go("Sign in")

    def start(self, plan: str, on: str, *targets: str) -> str:
        """Type a plan, tick targets, check it, start it; what the check has shown."""
        self.go("Start a plan")
        self.tab_to("Or a text, which has precedence")
        self.type(plan)
        for target in targets:
            self.tab_to(target)
            self.press(Keys.SPACE)
        self.go("Check and show the cost")
        shown = self.text()
        self.go(f"Start on {on}")
        return shown

    def compare_all(self) -> None:
        """Tick all sessions that are listed, and compare them."""
        for box in self.driver.find_elements(By.NAME, "session"):
            self.tab_to(str(box.get_attribute("aria-label")))
            self.press(Keys.SPACE)
        self.go("Compare those ticked")

    def ended_jobs(self) -> list[str]:
        """What the page of now says of the jobs that have ended."""
        rows = "//section[@aria-labelledby='ended']//tbody/tr"
        return [row.text for row in self.driver.find_elements(By.XPATH, rows)]

    def compared(self) -> list[str]:
        """The names of the links to the sessions of a comparison."""
        links = self.driver.find_elements(By.CSS_SELECTOR, "td a[href^='/report']")
        return [link.text for link in links]
