"""Several targets in one run: what is refused, and that nothing is touched then."""

from pathlib import Path

import pytest
from command import ioplan, plan_file
from fio_jobs import NEEDS_FIO

SHARED = 'test "T" { run random 4KiB 0/100, qd 4 over all for 100ms }'


def run(folder, text, *more, words):
    targets = [word for name in words for word in ("--target", name)]
    return ioplan("run", plan_file(folder, text), *targets, *more)


@pytest.fixture
def files(tmp_path, store_path, monkeypatch):
    """Two files of the user's in the working folder."""
    monkeypatch.chdir(tmp_path)
    content = {"a.bin": b"a" * (1 << 20), "b.bin": b"b" * (1 << 20)}
    for name, text in content.items():
        Path(name).write_bytes(text)
    return content


def check_untouched(files, store):
    for name, content in files.items():
        assert Path(name).read_bytes() == content
    assert ioplan("ls", "--store", store).out.count("\n") <= 1


@pytest.mark.parametrize(
    ("text", "words", "more", "says"),
    [
        (SHARED, ("a.bin", "b.bin"), ("--overwrite", "a.bin"), "b.bin"),
        pytest.param(
            *(SHARED, ("a.bin", "b.bin"), ("--backend", "fio"), "one target in a run"),
            marks=NEEDS_FIO,
        ),
        (SHARED, ("a.bin", "b.bin"), ("--backend", "sim"), "one target in a run"),
        (SHARED, ("a.bin", "b.bin"), ("--detach",), "has them in one run"),
        (SHARED, ("gone.bin", "a.bin"), (), "gone.bin"),
        (
            SHARED.replace("over all", 'over all, on targets "a.bin", "x.bin"'),
            ("a.bin", "b.bin"),
            (),
            "'x.bin', which no --target names",
        ),
        (
            'test "T" { run random 4KiB 0/100, verify, on targets "a.bin", 1 pass }',
            ("a.bin", "b.bin"),
            ("--overwrite", "a.bin", "--overwrite", "b.bin"),
            "several targets has none",
        ),
    ],
)
@pytest.mark.promise("safety.all_targets")
def test_nothing_is_written_unless_all_targets_may_be(
    files, store_path, tmp_path, text, words, more, says
):
    done = run(tmp_path, text, *more, words=words)
    assert done.code == 2, done.out
    assert says in done.err
    check_untouched(files, store_path)


def test_one_file_by_two_names_is_refused(files, store_path, tmp_path):
    Path("link.bin").symlink_to("a.bin")
    words = ("--overwrite", "a.bin", "--overwrite", "link.bin")
    done = run(tmp_path, SHARED, *words, words=("a.bin", "link.bin"))
    assert done.code == 2
    assert "a.bin" in done.err
    check_untouched({"a.bin": files["a.bin"]}, store_path)


@pytest.mark.slow
def test_a_refused_target_leaves_the_others_unlocked(files, tmp_path):
    words = ("--overwrite", "a.bin")
    assert run(tmp_path, SHARED, *words, words=("a.bin", "b.bin")).code == 2
    alone = SHARED.replace(" over all", "").replace("0/100", "100/0")
    assert run(tmp_path, alone, words=("a.bin",)).code == 0


def test_a_stream_on_a_target_of_another_host_is_refused(tmp_path):
    lab = tmp_path / "lab.toml"
    lab.write_text(
        f'[hosts.h1]\n[targets.a]\npath = "{tmp_path}/a.bin"\nhost = "h1"\n'
        f'[targets.b]\npath = "{tmp_path}/b.bin"\n'
    )
    done = run(tmp_path, SHARED, "--lab", str(lab), words=("a", "b"))
    assert done.code == 2
    assert "on the host h1" in done.err


def test_targets_that_are_not_used_at_once_are_refused(tmp_path):
    lab = tmp_path / "lab.toml"
    lab.write_text(
        "".join(
            f'[targets.{n}]\npath = "{tmp_path}/{n}.bin"\nlock = "shelf"\n'
            for n in "ab"
        )
    )
    done = run(tmp_path, SHARED, "--lab", str(lab), words=("a", "b"))
    assert done.code == 2
    assert "have the same lock" in done.err
