"""A profile that leaves out the preconditioning says so wherever its figures stand."""

import json
import re

import pytest
from command import ioplan, plan_file
from sim_batches import rough

from ioplan.cli import plan_of
from ioplan.results import report
from ioplan.results.store import Store

pytestmark = pytest.mark.slow
PLAN = """plan "review"
param fill = 1 pass
profile smoke { fill = 0.1 passes }
profile short { fill = 1 pass }
precondition filled { write sequential 128KiB, qd 8, fill }
test "reads" {
  after filled
  run random 4KiB 100/0, qd 4 for 100ms
  rounds until steady iops, at most 8, over 3, range 90%, slope 90%
  expect errors == 0
}
"""
PROFILES = ("smoke", "smoke", "short", "full")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store with a session of each of these profiles."""
    folder = tmp_path_factory.mktemp("profiles")
    plan, path = plan_file(folder, PLAN), folder / "results.db"
    words = ("--backend", "sim", "--create", "64MiB", "--store", path)
    with rough():
        for profile in PROFILES:
            done = ioplan("run", plan, *words, "--profile", profile)
            assert done.code in (0, 1), done.err  # not steady, maybe
    return path


def ids(store, *profiles):
    """The sessions of these, the oldest first."""
    with Store.open(store) as opened:
        every = [one.id for one in opened.sessions()][::-1]
    of = zip(every, PROFILES, strict=True)
    return [id for id, profile in of if profile in profiles]


def document(store, *profiles, first=True):
    """Of the first session of a profile, or of all."""
    with Store.open(store) as opened:
        found = [opened.session(id) for id in ids(store, *profiles)]
        chosen = found[:1] if first else found
        plans = {one.id: plan_of(one) for one in chosen}
        return report.document(opened, chosen, plans, "")


@pytest.mark.parametrize("profile", ["smoke", "short"])
def test_its_name_stands_everywhere(profile, store, tmp_path):
    id, where = ids(store, profile)[0], ("--store", store)
    named, page = f"profile {profile}", tmp_path / "page.html"
    assert named in ioplan("show", id, *where).out.splitlines()[0]
    assert named in ioplan("ls", *where).out
    assert ioplan("report", id, "-o", page, *where).code == 0
    text = page.read_text()
    title = re.findall(r"<title>([^<]*)", text)[0]
    assert f"PROFILE {profile}" in title and named in title
    badge = tmp_path / "badge.svg"
    assert ioplan("report", id, "--badge", "-o", badge, *where).code == 0
    assert named in badge.read_text()
    about = json.loads(re.findall(r'id="about">(.*?)</script>', text)[0])
    assert [one["profile"] for one in about["sources"]] == [profile]


@pytest.mark.parametrize(
    ("profile", "filled"), [("smoke", False), ("short", True), ("full", True)]
)
def test_unconditioned_has_no_tick(profile, filled, store):
    """Nor has it a rank."""
    found = document(store, profile)
    screen = found.screen
    assert screen.outcome == ("held" if filled else "undecided")
    chips = {one.text: one.tone for one in screen.chips}
    assert (f"profile {profile}: no preconditioning" in chips) == (not filled)
    assert ("good" in chips.values()) == filled
    (section,) = found.sections
    headlines = [one for some in section.headlines.values() for one in some]
    assert headlines
    for one in headlines:
        assert ("not preconditioned" in one.against) == (not filled)
        assert filled or not one.is_firm
    several = document(store, *{"smoke", profile}, first=False).screen
    assert several.cards
    assert any(bar.is_best for card in several.cards for bar in card.bars) == filled
