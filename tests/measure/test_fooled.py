"""No way to be fooled by a drive's state makes a claim that the drive cannot sustain."""

import pytest
from command import ioplan, plan_file
from fooled import (
    DRIVES,
    RANDOM,
    STEADY,
    WAYS,
    claims,
    compressing,
    drive_file,
    interrupted,
    last_records,
    on_drive,
    sustained,
)
from fooled import test as plan_text

MOST = 1.1
"""A claim may be so many times what the drive sustains."""


@pytest.fixture
def truth(tmp_path, store_path, request):
    """What a drive sustains of a plan's I/O, noted beside what is claimed of it."""

    def told(file, text, claim):
        found = sustained(tmp_path, file, store_path, text, claim.metric)
        name = request.node.callspec.id
        print(f"| {name} | {claim.claim} | {claim.mean:.4g} | {found:.4g} |")
        return found

    return told


@pytest.mark.long_but_first
@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.promise("steady.account")
def test_nothing_is_called_steady_that_does_not_last(
    way, drive, tmp_path, store_path, truth
):
    file = drive_file(tmp_path, drive)
    (claim,) = claims(on_drive(tmp_path, file, WAYS[way], store_path))
    lasts = truth(file, WAYS[way], claim)
    assert not claim.is_steady or claim.mean <= MOST * lasts


def test_reads_of_nothing_are_told(tmp_path, store_path):
    file, way = drive_file(tmp_path, "client"), WAYS["a part unwritten"]
    (claim,) = claims(on_drive(tmp_path, file, way, store_path))
    told = "over 5 values, but 40 % of the blocks it reads were never written"
    assert claim.claim.startswith("not steady: settled within")
    assert claim.claim.endswith(told)


@pytest.mark.promise("steady.settled")
def test_a_half_empty_drive_settles(tmp_path, store_path):
    file = drive_file(tmp_path, "client")
    plan = plan_file(tmp_path, WAYS["half full"].replace("on unsteady continue\n", ""))
    done = ioplan("run", plan, "--backend", "sim", "--sim", file, "--quiet")
    assert done.code == 0, done.err
    (claim,) = claims(last_records(store_path))
    assert claim.claim == "settled, with 50 % of the drive empty"


@pytest.mark.long_but_first
@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.parametrize("way", STEADY)
def test_a_steady_drive_is_not_refused(way, drive, tmp_path, store_path, truth):
    file, (precondition, rule) = drive_file(tmp_path, drive), STEADY[way]
    text = plan_text(precondition, RANDOM + rule)
    (claim,) = claims(on_drive(tmp_path, file, text, store_path))
    assert claim.is_steady, claim
    assert claim.mean <= MOST * truth(file, text, claim)


@pytest.mark.long_but_first
@pytest.mark.parametrize("drive", DRIVES)
def test_a_drive_that_compresses_is_steady_of_other_data_only(
    drive, tmp_path, store_path, truth
):
    """What it does to data that compresses it does not sustain of other data, as
    which it writes like the drive that does not compress."""
    file, text = drive_file(tmp_path, drive), WAYS["data that compresses"]
    (claim,) = claims(on_drive(tmp_path, compressing(file), text, store_path))
    assert claim.claim == "settled, with 50 % of its data compressible"
    assert claim.mean > 1.5 * truth(file, text, claim) or drive == "crosspoint"


@pytest.mark.long
@pytest.mark.parametrize("drive", DRIVES)
@pytest.mark.promise("steady.account")
def test_a_resumed_one_claims_no_more(drive, tmp_path, store_path, truth):
    file, text = drive_file(tmp_path, drive), WAYS["erased, at random"]
    call = ("--backend", "sim", "--sim", file, "--store", store_path)
    interrupted(plan_file(tmp_path, text), *call, store=store_path)
    (claim,) = claims(last_records(store_path))
    lasts = truth(file, text, claim)
    assert not claim.is_steady or claim.mean <= MOST * lasts
