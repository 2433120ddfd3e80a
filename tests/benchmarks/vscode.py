"""The extension in VS Code itself: what it shows, and pictures of it.

    npm install --prefix HOST --ignore-scripts --no-package-lock code-server@4.99.4
    cd HOST/node_modules/code-server/lib/vscode
    npm install --omit=dev --ignore-scripts --no-package-lock
    npm rebuild @vscode/spdlog node-pty @parcel/watcher native-watchdog
    npm run --prefix editors/vscode package
    python tests/benchmarks/vscode.py HOST [PICTURES]

It starts the server of VS Code with the extension, opens a plan with an error in
Chromium, waits for what an author sees, and fails if it does not come.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors/vscode/ioplan.vsix"
LONGEST_S = 60.0
TEXTS = """return [...document.querySelectorAll(arguments[0])]
  .map(one => one.innerText).join("\\n")"""
WITH_TEXT = """return [...document.querySelectorAll(arguments[0])]
  .find(one => one.innerText.includes(arguments[1]))"""
PLAN = """plan "Reads"

use "std/preconditions.ioplan" as pre

param run_time = 1min

test "Random reads" {
  after  pre.filled
  run    random 4KiB 100/0 for run_time
  vary   qd in 1..32 doubling
  expect p99 < 2ms
}

test "Mixed" {
  run    random 8kb 70/30, qd 8 for run_time
}
"""


def until(true: Callable[[], Any], what: str) -> Any:
    """Wait for a condition; its value."""
    end = time.monotonic() + LONGEST_S
    while not (found := true()):
        if time.monotonic() > end:
            sys.exit(f"VS Code shows no {what}")
        time.sleep(0.2)
    print(f"shown: {what}")
    return found


@contextmanager
def server(host: Path, folder: Path) -> Iterator[str]:
    """VS Code's server with the extension; its address."""
    data = folder / "data"
    machine = data / "data/Machine"
    machine.mkdir(parents=True)
    settings = {
        "ioplan.command": [sys.executable, "-m", "ioplan.cli", "lsp"],
        "workbench.colorTheme": "Default Light Modern",
        "editor.minimap.enabled": False,
    }
    (machine / "settings.json").write_text(json.dumps(settings))
    main = host / "node_modules/code-server/lib/vscode/out/server-main.js"
    shared = ["node", str(main), "--server-data-dir", str(data)]
    shared += ["--accept-server-license-terms"]
    install = [*shared, "--install-extension", str(EXTENSION)]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["--host", "127.0.0.1", "--port", str(port), "--without-connection-token"]
    words += ["--disable-workspace-trust"]
    started = subprocess.Popen([*shared, *words], stdout=subprocess.DEVNULL)
    try:
        until(lambda: _answers(port), "address")
        yield f"127.0.0.1:{port}"
    finally:
        started.terminate()
        started.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def browser() -> webdriver.Chrome:
    """Chromium without a screen."""
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--window-size=1100,640"):
        options.add_argument(word)
    return webdriver.Chrome(options=options)


def look(driver: webdriver.Chrome, address: str, plan: Path, pictures: Path) -> None:
    """What an author sees, in the order of writing."""
    file = f"vscode-remote://{address}{plan}"
    payload = json.dumps([["openFile", file]])
    driver.get(f"http://{address}/?folder={plan.parent}&payload={payload}")

    def said(selector: str) -> str:
        found: str = driver.execute_script(TEXTS, selector)
        return found.replace("\N{NO-BREAK SPACE}", " ")

    def shown(selector: str, text: str) -> Any:
        return driver.execute_script(WITH_TEXT, selector, text)

    until(lambda: driver.find_elements(By.CSS_SELECTOR, ".squiggly-error"), "error")
    until(lambda: "6 cells" in said(".view-line"), "costs")
    until(lambda: "rehearse" in said(".codelens-decoration"), "lens")
    driver.save_screenshot(str(pictures / "vscode_costs.png"))
    word = shown(".view-line span span", "qd")
    ActionChains(driver).move_to_element(word).perform()
    until(lambda: "outstanding" in said(".monaco-hover"), "hover")
    write = ActionChains(driver).move_to_element(shown(".view-line", "expect")).click()
    write.send_keys(Keys.END, Keys.ENTER, "chart lines ").perform()
    until(lambda: "bandwidth" in said(".suggest-widget"), "completion")
    driver.save_screenshot(str(pictures / "vscode_completion.png"))
    ActionChains(driver).send_keys(Keys.ENTER, " by ").perform()
    until(lambda: "qd" in said(".suggest-widget"), "axes")
    ActionChains(driver).send_keys(Keys.ENTER).perform()
    keys = ActionChains(driver).key_down(Keys.CONTROL).send_keys("s")
    keys.key_up(Keys.CONTROL).perform()
    until(lambda: "  chart  lines iops by qd\n" in plan.read_text(), "layout on save")


def main() -> None:
    host = Path(sys.argv[1]).resolve()
    pictures = Path(sys.argv[2] if len(sys.argv) > 2 else ".").resolve()
    os.environ.setdefault("SE_OFFLINE", "true")
    with TemporaryDirectory() as made:
        folder = Path(made).resolve()
        plan = folder / "plans/reads.ioplan"
        plan.parent.mkdir()
        plan.write_text(PLAN)
        with server(host, folder) as address:
            driver = browser()
            try:
                look(driver, address, plan, pictures)
            finally:
                driver.quit()


if __name__ == "__main__":
    main()
