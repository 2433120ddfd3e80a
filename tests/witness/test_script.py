"""A script that is wrong is refused with its keys."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from command import ioplan
from paths import ROOT

from ioplan_witness import Script

WRONG = {
    "": "size: Field required",
    "size = 5": "size: 5 is not a size; write for example '4KiB'",
    "size = '1MiB'\nsise = 1": "sise: there is no such key, did you mean 'size'",
    "size = '1MiB'\n[[latency]]\nvalue = '4KiB'": "latency.1.value: '4KiB' is a size, not a time",
    "size = '1MiB'\n[[latency]]\nvalu = '4ms'": "latency.1.valu: there is no such key, did you mean 'value'",
    "size = '1MiB'\n[[latency]]\nshape = 'normal'\nmean = '1ms'": "latency.1: shape 'normal' needs 'deviation'",
    "size = '1MiB'\n[[latency]]\nvalue = '1ms'\nmean = '1ms'": "latency.1: shape 'fixed' has no 'mean'",
    "size = '1MiB'\n[[latency]]\nshape = 'uniform'\nlow = '2ms'\nhigh = '1ms'": "low is above high",
    "size = '1MiB'\n[[latency]]\nvalue = '1ms'\nsize = ['8KiB', '4KiB']": "size: its first end is beyond its second",
    "size = '1MiB'\n[[latency]]\nshape = 'values'\nvalues = ['1ms']\nweights = [1, 2]": "as many of one as of the other",
    "size = '1MiB'\n[[fault]]\nerror = 'EOI'": "fault.1: error: 'EOI' is no errno",
    "size = '1MiB'\n[[fault]]\nerror = 'EIO'\nshort = '512B'": "a fault has one of",
    "size = '1MiB'\n[[fault]]\nerror = 'EIO'\nnth = 0": "fault.1.nth: Input should be greater",
    "size = '1MiB'\n[[fault]]\nerror = 'EIO'\nnth = 1.5": "fault.1.nth",
    "size = '1MiB'\n[[stall]]\nat = '1s'\nlength = '2s'\nevery = '1s'": "the next stall begins",
    "size = '1MiB'\n[throttle]\nburst_ios = 4": "throttle: burst_ios: there is no rate",
    "size = '1MiB'\n[cache]\nmode = 'write-back'": "cache.mode: Input should be",
    "size = '1MiB'\n[cache]\ntorn = '512B'": "a write-through cache loses nothing",
    "size = '1MiB'\nsize = '2MiB'": "is not TOML",
}


@pytest.mark.parametrize("text", WRONG)
def test_each_wrong_key_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "script.toml"
    path.write_text(text)
    done = ioplan("device", "start", path, "-o", tmp_path / "device")
    assert done.code == 2 and WRONG[text] in " ".join(done.err.split())


@pytest.mark.parametrize("name", ["slow", "throttled"])
def test_the_examples_are_right(name: str) -> None:
    text = (ROOT / f"examples/{name}.toml").read_text()
    assert Script.model_validate(tomllib.loads(text)).size == 256 << 20
