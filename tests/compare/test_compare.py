"""`ioplan compare` on the simulated drive and on a file: alignment, verdicts, outputs."""

import itertools
import json
import re
from xml.etree import ElementTree

import pytest
from command import ioplan, plan_file
from figures import changed, measurement, record, run
from sessions import SWEPT, put, put_alike

from ioplan.records import BackendFacts
from ioplan.results.compare import Question, compare, side_of
from ioplan.results.report import Reader
from ioplan.results.store import Store

FILLED = "precondition filled { write sequential 128KiB, qd 16, 1 pass }\n"
BEFORE = 'test "Before" { after filled\nrun random 16KiB 100/0 for shift }\n'
READS = """
test "Reads" {
  after filled
  repeat 3 { run random 4KiB 100/0 for 1s }
  vary qd in 1, 4, 16
}
"""
PLAN = f"param shift = 1s\n{FILLED}{BEFORE}{READS}"
FAST = '[flash]\nread = "1us"\n'
SLOWER = f'{FAST}[host]\noverhead = "13us"\n'
AS_NAMED = """
test "Idle" {
  run random 4KiB 100/0 for 100ms as before
  run random 4KiB 100/0, qd 2 for 100ms as later
  vary size in 4KiB, 8KiB
}
"""


@pytest.fixture
def ran(tmp_path, store_path):
    """Run a plan on the simulated drive; returns the session's id."""

    def run(text=PLAN, drive="", **settings):
        path = plan_file(tmp_path, text)
        options = ["--create", "256MiB"]
        if drive:
            (tmp_path / "drive.toml").write_text(drive)
            options += ["--sim", tmp_path / "drive.toml"]
        for name, value in settings.items():
            options += ["--set", f"{name}={value}"]
        done = ioplan("run", path, "--backend", "sim", "--quiet", *options)
        assert done.code == 0, done.err
        return newest()

    return run


def newest():
    return ioplan("ls", "--format", "jsonl").lines[0]["id"]


def found_of(done):
    return json.loads(done.out)


def rows(done):
    return found_of(done)["rows"]


def verdicts(done):
    """Of all cells together."""
    return {one["verdict"] for one in found_of(done)["all_cells"]}


def alike(path, base, new, change, **both):
    """Sessions by their numbers, of which NEW has so much more or less of each cell.

    `both` are the same fields of BASE and NEW, as pairs.
    """
    loss = {qd: change for qd in SWEPT}
    one, other = ({name: pair[at] for name, pair in both.items()} for at in (0, 1))
    with Store.open(path) as store:
        return (
            ",".join(put_alike(store, n, **one) for n in base),
            ",".join(put_alike(store, n, loss, **other) for n in new),
        )


def words(done):
    return {row["verdict"] for row in rows(done)}


def compared(base, new, *options):
    return ioplan("compare", base, new, "--format", "json", *options)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.promise("compare.alarms")
def test_a_drive_beside_itself(ran, store_path):
    """A/A: 10 sessions that differ in their seeds only, 15 pairs of them.

    Nothing counts as equal, so that only the statistics stand against noise.
    """
    ids = [ran(shift=f"{1 + n}00ms") for n in range(10)]
    with Store.open(store_path) as store:
        sides = [side_of(store, [store.session(id)]) for id in ids]
        runs = [run for s in sides for cell in s.cells for run in cell.runs]
        figures = {run.total.iops for run in runs}
        assert len(figures) > 90, "the sessions are not the same numbers again"
        reader, question = Reader(store), Question(threshold_percent=0.0)
        pairs = list(itertools.combinations(sides, 2))[::3]
        found = [compare(reader, base, new, question) for base, new in pairs]
    assert all(len(one.rows) == 12 for one in found)
    assert sum(one.count("worse") + one.count("better") > 0 for one in found) <= 1


@pytest.mark.long
@pytest.mark.promise("exit_codes.compare")
def test_a_slower_drive_is_worse_where_it_is_slower(ran):
    """3 us more a command, which a short queue feels and a full one does not.

    Another configuration is another drive, so what is shown are ratios.
    """
    ids = [
        ran(drive=SLOWER if at % 2 else FAST, shift=f"{at}00ms") for at in range(1, 7)
    ]
    new, base = ",".join(ids[::2]), ",".join(ids[1::2])
    done = compared(base, new)
    assert done.code == 1
    found = found_of(done)
    by_cell = {(row["cell"].get("qd"), row["metric"]): row for row in found["rows"]}
    for metric, most in (("iops", 0.9), ("mean", 1.3)):
        row = by_cell["1", metric]
        assert row["verdict"] == "worse" and row["low"] < row["ratio"] < most
        assert row["base_sessions"] == 3 and row["base_runs"] == 9
        assert by_cell["16", metric]["verdict"] == "equal"
    assert found["subject"] == "drives" and verdicts(done) == {"worse"}
    back, large = compared(new, base), compared(base, new, "--threshold", "60%")
    assert "better" in words(back) and "worse" not in words(back)
    assert words(large) == {"equal"}
    other = {*found["only_base"], *found["only_new"]}  # the time before is its own
    assert other == {"Before"} and back.code == large.code == 1


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.promise("compare.simulated")
def test_a_simulated_drive_is_no_file(tmp_path, store_path):
    """Two sessions of a file compare alike before and after three simulated ones."""
    text = 'test "R" { run random 4KiB 100/0 for 200ms\n vary qd in 1, 4 }'
    file = plan_file(tmp_path, text)
    options = ("--target", tmp_path / "s.bin", "--create", "32MiB", "--quiet")

    def run(backend):
        for _ in range(6):  # on a busy machine a run may begin too late to count
            if ioplan("run", file, "--backend", backend, *options).code == 0:
                return newest()
        raise AssertionError("no run of six was sound")

    base, new = run("io_uring"), run("io_uring")
    before = compared(base, new)
    simulated = [run("sim") for _ in range(3)][-1]
    after = compared(base, new)
    assert before.code == after.code == 0 and words(after) <= {"inconclusive", "equal"}
    assert found_of(after) == found_of(before)
    assert found_of(after)["learned_from"] == []
    assert words(compared(base, simulated)) == {"inconclusive"}
    detected = ioplan("plan", file, "--detect", "5%", "--json")
    for one in json.loads(detected.out)["metrics"]:
        assert "assumed" in one["source"] or one["source"].endswith("backend io_uring)")


@pytest.mark.promise("compare.two_sessions")
def test_two_sessions_tell_nothing_of_noise(store_path):
    """However large the ratio, and however even the repeats; it says what would decide."""
    base, new = alike(store_path, [1], [2], -0.5)
    done = compared(base, new)
    assert done.code == 0 and words(done) == {"inconclusive"}
    for row in rows(done):
        assert row["why"] == "run-to-run variation unknown"
        assert row["low"] is None and row["sessions_needed"] == 3
    out = " ".join(ioplan("compare", base, new).out.split())
    assert (
        "NEW compared with BASE on /dev/sim0 is inconclusive: 1 session a side; run "
        "each side 3 times, in turn (ABABAB)"
    ) in out
    assert re.search(r"inconclusive qd=1 iops 601k 300k 0\.499×", out)
    assumed = compared(base, new, "--noise", "1%")
    assert assumed.code == 1 and {*words(assumed)} == {"worse"}
    assert {one["source"] for one in found_of(assumed)["noise"]} == {"given"}


@pytest.mark.promise("compare.two_sessions", "compare.suspected")
def test_the_store_tells_the_noise_of_two_sessions(store_path):
    """Earlier sessions of the same runs, and of no other drive's where they are enough."""
    sides, new = alike(store_path, range(1, 7), [8], -0.12)
    *earlier, base = sides.split(",")
    suspected = compared(base, new)
    source = "5 other sessions with the same runs (drive /dev/sim0, backend sim)"
    assert found_of(suspected)["learned_from"] == earlier
    assert {one["source"] for one in found_of(suspected)["noise"]} == {source}
    assert verdicts(suspected) == {"suspected"}
    done = ioplan("compare", base, new)
    out = " ".join(done.out.split())
    interval = r"0\.8\d\d× … 0\.8\d\d×"
    assert re.search(rf"suspected iops 0\.8\d\d× {interval} 4 of 4 lower", out)
    assert source in out and done.code == 0
    assert (
        "gives a suspicion only: worse, but only 1 session on a side, and variation "
        "known from 5 sessions instead of 20; run it again"
    ) in out
    same = compared(*earlier[:2])
    assert same.code == 0 and "worse" not in words(same)


@pytest.mark.promise("compare.suspected")
def test_twenty_known_sessions_make_a_verdict_of_one(store_path):
    """As do two sessions a side that alternate."""
    sides, losing = alike(store_path, [*range(1, 21), 23], [22, 24], -0.12)
    *_, last, base = sides.split(",")
    done = compared(base, losing.split(",")[0])
    assert done.code == 1 and verdicts(done) == {"worse"}
    assert compared(f"{last},{base}", losing).code == 1


OURS = {"name": "io_uring", "mode": "io_uring"}
OTHER_WAYS = [{"name": "io_uring", "mode": "sync"}, {"name": "fio", "mode": "io_uring"}]


@pytest.mark.parametrize("other", OTHER_WAYS)
@pytest.mark.promise("exit_codes.compare", "compare.mode")
def test_another_mode_is_said_first_and_nothing_of_the_drive(store_path, other):
    """58 % less by another way of doing I/O, however many sessions there are."""
    facts = [BackendFacts(version="1", **each) for each in (OURS, other)]
    base, new = alike(store_path, (1, 3, 5), (2, 4, 6), -0.58, backend=facts)
    done = ioplan("compare", base, new)
    same = other["name"] == OURS["name"]
    label, key = ("mode", "mode") if same else ("backend", "name")
    said = f"{label}: {OURS[key]} in BASE, {other[key]} in NEW"
    assert done.code == 2 and said in done.out and "-58.0 %" in done.out
    assert done.out.index(said) < done.out.index("inconclusive")
    assert words(compared(base, new)) == {"inconclusive"}
    for format in ("json", "markdown", "github", "junit"):
        out = ioplan("compare", base, new, "--format", format).out
        assert "in BASE" in out or "another backend or mode" in out
        assert not re.search(r'worse: |"(worse|better)"|<failure', out)
    found = found_of(compared(base, new))
    assert found["all_cells"] == [] and found["differences"] == [said]
    assert all(row["sessions_needed"] is None for row in found["rows"])


def test_two_drives_have_ratios(store_path):
    """Of one session a side the noise is unknown, and the ratio stands all the same.

    Both drives are named; a difference of kernels is listed, and judged.
    """
    drives = [{"identity": {"model": "m", "serial": name}} for name in "ab"]
    base, new = alike(store_path, [1], [2], 0.79, target=drives)
    done = compared(base, new)
    assert done.code == 0 and words(done) == {"ratio"}
    assert found_of(done)["subject"] == "drives"
    heading, *lines = ioplan("compare", base, new).out.splitlines()
    out = " ".join(" ".join(lines).split())
    assert heading == "m b compared with m a"
    assert re.search(r"ratio qd=1 iops \S+ \S+ 1\.\d+× ", out)
    assert f"{heading} gives ratios only: 1 session a side; run each side 3" in out
    hosts = [{"kernel": "6.1"}, {"kernel": "6.8"}]
    sides = alike(store_path, (11, 13, 15), (12, 14, 16), -0.2, host=hosts)
    done, said = ioplan("compare", *sides), "kernel: 6.1 in BASE, 6.8 in NEW"
    assert done.code == 1 and done.out.index(said) < done.out.index("worse")


def test_sides_that_ran_in_a_row_count_once(store_path):
    """A drift would look the same; alternating sides are called."""
    sides = alike(store_path, (1, 2, 3, 5), (4, 6, 7, 8), -0.1)
    base, new = (one.split(",") for one in sides)
    row = compared(",".join(base[:3]), ",".join(new[2:]))
    assert {one["base_sessions"] for one in rows(row)} == {1}
    out = ioplan("compare", ",".join(base[:3]), ",".join(new[2:])).out
    assert "3 + 2 sessions count as 1 + 1: consecutive ones" in out
    mixed = compared(",".join(base[2:]), ",".join(new[:2]))
    assert {one["base_sessions"] for one in rows(mixed)} == {2}


@pytest.mark.promise("compare.pairs")
def test_names_and_order_do_not_matter(ran):
    other = READS.replace('"Reads"', '"Lesen"').replace("1, 4, 16", "16, 4, 1")
    base, new = ran(), ran(f"param shift = 1s\n{FILLED}{other}{BEFORE}")
    found = found_of(compared(base, new))
    assert len(found["rows"]) == 12 and found["only_base"] == found["only_new"] == []
    iops = [row["ratio"] for row in found["rows"] if row["metric"] == "iops"]
    assert iops == pytest.approx([1] * len(iops), abs=0.05)
    assert {row["test"] for row in found["rows"]} == {"Before", "Lesen"}


def test_figures_that_must_not_be_relied_on_are_neither_equal_nor_different(ran):
    """Reads of nothing are as fast on every drive; `show` marks them, too."""
    plan = 'test "R" { run random 4KiB 100/0, qd 8 for 1s\n vary qd in 1, 8 }'
    sides = [ran(plan, drive=f'[flash]\nread = "{us}us"\n') for us in (90, 120)]
    reason = "100 % of the blocks it reads were never written"
    done = compared(*sides)
    assert done.code == 0 and words(done) == {"inconclusive"}
    for row in rows(done):
        assert row["why"] == reason and row["base_doubts"] == [reason]
        assert row["sessions_needed"] is None and row["ratio"]
    text = ioplan("compare", *sides).out
    assert " ".join(text.split()).endswith(f" is inconclusive: {reason}")
    assert "k ▲" in text and "equal" not in text
    assert "▲" in ioplan("show", sides[0]).out
    assert ioplan("ls").out.count("k IOPS ▲, ") == 2


def test_a_doubt_of_one_side_is_of_that_side(ran):
    """And what is firm beside it is judged as ever."""
    run = "run random 4KiB 100/0, qd 8 for 100ms"
    prepared = f'{FILLED}test "R" {{ after filled\n{run} }}'
    done = compared(ran(f'test "R" {{ {run} }}'), ran(prepared), "--noise", "1%")
    (why,) = {row["why"] for row in rows(done)}
    assert why == "BASE: 100 % of the blocks it reads were never written"
    assert "inconclusive" not in words(compared(ran(prepared), ran(prepared)))


def test_an_edited_plan_aligns_by_what_it_asks(ran):
    longer = PLAN.replace("for 1s", "for 2s").replace("1, 4, 16", "1, 4, 8")
    found = found_of(compared(ran(), ran(longer)))
    assert {row["cell"].get("qd") for row in found["rows"]} == {None, "1", "4"}
    assert found["only_base"] == ["Reads: qd=16"]
    assert found["only_new"] == ["Reads: qd=8"]
    remarks = [row["remarks"] for row in found["rows"] if row["cell"]]
    assert all(one == ["runs of 1 s in BASE, of 2 s in NEW"] for one in remarks)


@pytest.mark.long
def test_the_same_run_twice_in_a_plan_is_two_cells(ran):
    text = PLAN + READS.replace('"Reads"', '"Again"')
    found = rows(compared(ran(text), ran(text)))
    assert len(found) == 21
    assert sum(row["test"] == "Again" for row in found) == 9
    assert {row["base_runs"] for row in found if row["test"] != "Before"} == {3}


def test_steps_with_names_are_told_apart(ran):
    """Both are of one cell of the matrix."""
    sides, iops = (ran(AS_NAMED), ran(AS_NAMED)), ("--metric", "iops")
    done = ioplan("compare", *sides, "--all", *iops)
    assert "before size=4KiB" in done.out and "later size=4KiB" in done.out
    steps = [row["step"] for row in rows(compared(*sides, *iops))]
    assert steps == ["before", "later"] * 2


def test_of_rounds_the_window_counts(ran):
    text = """precondition p { write sequential 1MiB, qd 8, 1 pass }
test "T" {
  after p
  run random 4KiB 100/0 for 1s
  vary qd in 1, 2
  rounds until steady iops when qd == 1, at most 9
}"""
    found = rows(compared(ran(text), ran(text)))
    assert {row["base_runs"] for row in found} == {5}


def killed_after(runs, plan, monkeypatch, *words):
    """A session on the simulated drive that ends, as by a kill, after some runs."""
    add, done = Store.add, itertools.count(1)

    def adding(self, *made):
        add(self, *made)
        if next(done) == runs:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Store, "add", adding)
        options = ("--backend", "sim", "--create", "256MiB", "--quiet", *words)
        ioplan("run", plan, *options)


def cut_session(store, number, cells, status="ok"):
    """A session of so many of four cells."""
    id = f"2026020{number}-000000-aaaa"
    return put(store, *(run(seq) for seq in range(1, cells + 1)), id=id, status=status)


@pytest.mark.parametrize(("base", "new"), [(4, 1), (1, 4)])
@pytest.mark.promise("exit_codes.compare", "compare.missing")
def test_a_killed_one_is_not_green(store_path, tmp_path, base, new):
    """On either side: three of four cells were not compared."""
    sides = [
        cut_session(store_path, at, cells, "ok" if cells == 4 else "interrupted")
        for at, cells in enumerate((base, new), start=1)
    ]
    done = ioplan("compare", *sides)
    assert done.code == 1 and "3 cells missing" in done.out.replace("\n", " ")
    said = f"{'NEW' if new == 1 else 'BASE'} has not measured"
    root, page = ElementTree.fromstring(formatted(*sides, "junit")), tmp_path / "r.html"
    errors = [one.get("message", "") for one in root.findall(".//error")]
    assert len(errors) == 3 and all(said in one for one in errors)
    suite = root.find("testsuite[@name='missing cells']")
    assert suite is not None and suite.get("errors") == suite.get("tests") == "3"
    lines = formatted(*sides, "github").splitlines()
    assert sum(one.startswith("::error title=missing cells::") for one in lines) == 3
    assert ioplan("report", *sides, "--output", page).code == 0
    assert page.read_text().count(f">{said}") == 3


FOUR = 'test "T" { run random 4KiB 100/0 for 1s\n vary qd in 1, 2, 4, 8\n %s }'


def test_cells_that_both_sides_lack_are_missing(store_path, tmp_path, monkeypatch):
    """Two sessions of one plan, both killed after the first of its four cells."""
    for _ in range(2):
        killed_after(1, plan_file(tmp_path, FOUR % ""), monkeypatch)
    with Store.open(store_path) as store:
        new, base = (one.id for one in store.sessions())
    done = compared(base, new)
    assert done.code == 1
    assert found_of(done)["neither"] == ["T: qd=2", "T: qd=4", "T: qd=8"]
    root = ElementTree.fromstring(formatted(base, new, "junit"))
    texts = [one.get("message", "") for one in root.findall(".//error")]
    assert texts == [f"BASE and NEW have not measured T: qd={n}" for n in (2, 4, 8)]


@pytest.mark.parametrize(
    ("ran", "limit", "verdict", "shown"),
    [
        (1, "iops > 1", "not measured", "passed 1 of 4"),
        (3, "iops > 1", "not measured", "passed 3 of 4"),
        (1, "iops > 100_000_000", "failed", "failed"),
        (4, "iops > 1", "undecided", "undecided"),
    ],
)
@pytest.mark.usefixtures("store_path")
def test_a_killed_session_has_not_held(
    ran, limit, verdict, shown, tmp_path, monkeypatch
):
    """Of four cells some were measured; its page says that not all of the plan has run."""
    killed_after(ran, plan_file(tmp_path, FOUR % f"expect {limit}"), monkeypatch)
    (one,) = ioplan("ls", "--format", "jsonl").lines
    held = ran if limit == "iops > 1" else 0
    assert (one["verdict"], one["held"], one["expected"]) == (verdict, held, 4)
    assert f" {shown} " in ioplan("ls").out
    assert not ioplan("ls", "--verdict", "held", "--format", "jsonl").lines
    assert ioplan("ls", "--verdict", verdict, "--format", "jsonl").lines == [one]


def test_a_cell_that_the_plan_gained_is_not_missing(store_path):
    base, new = cut_session(store_path, 1, 3), cut_session(store_path, 2, 4)
    done = ioplan("compare", base, new)
    assert done.code == 0 and "BASE has no demo: " in done.out
    assert "missing" not in done.out and ioplan("compare", new, base).code == 1


@pytest.fixture(scope="module")
def of_six(tmp_path_factory):
    """Three sessions a side, alternating: slower at queue depth 1, faster at 2."""
    path = tmp_path_factory.mktemp("six") / "results.db"
    change = {"1": -0.2, "2": 0.3, "4": -0.03}
    with Store.open(path) as store:
        ids = [put_alike(store, n, {} if n % 2 else change) for n in range(1, 7)]
    return path, ",".join(ids[::2]), ",".join(ids[1::2])


@pytest.fixture
def pair(of_six, monkeypatch):
    path, *sides = of_six
    monkeypatch.setenv("IOPLAN_STORE", str(path))
    return sides[0], sides[1]


def test_text_is_plain_in_80_columns(pair, tmp_path):
    """NEW is the last session by itself, and all of it may be written to a file."""
    done = ioplan("compare", *pair, "--all")
    assert all(len(line) <= 80 for line in done.out.splitlines() if "BASE" not in line)
    assert "\x1b" not in done.out
    assert re.search(r"worse +qd=1 +iops .* -\d\d\.\d % +-\d+\.\d … -\d+\.\d", done.out)
    out = tmp_path / "c.txt"
    assert ioplan("compare", *pair, "-o", out).code == 1
    short = out.read_text()
    assert "\n equal         qd=" in done.out and "\n equal         qd=" not in short
    assert "3 worse, 3 better, 3 equal, 3 inconclusive" in short
    last = pair[1].split(",")[-1]
    assert ioplan("compare", pair[0]).out == ioplan("compare", pair[0], last).out


def formatted(base, new, format):
    return ioplan("compare", base, new, "--format", format).out


def test_all_formats_have_the_same_verdicts(pair):
    root, whole = ElementTree.fromstring(formatted(*pair, "junit")), compared(*pair)
    found = [*rows(whole), *found_of(whole)["all_cells"]]
    assert len(root.findall(".//testcase")) == len(found) == 15
    for verdict, tag in (("worse", "failure"), ("inconclusive", "skipped")):
        count = sum(row["verdict"] == verdict for row in found)
        assert len(root.findall(f".//{tag}")) == count
    suite = root.find("testsuite[@name='Reads']")
    assert suite is not None and int(suite.get("tests", 0)) == 12
    assert int(suite.get("failures", 0)) == len(suite.findall(".//failure")) > 0

    lines, form = formatted(*pair, "github").splitlines(), r"::(error|warning|notice)"
    assert all(re.match(rf"{form} title=[^:,]*::.", one) for one in lines)
    assert any(
        one.startswith("::error title=Reads qd=1 iops::worse: ") for one in lines
    )
    assert "below 2 %25 count as equal" in lines[0]

    lines = formatted(*pair, "markdown").splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert any(line.startswith("| worse | qd=1 | iops |") for line in table)
    assert all(line.startswith("|") == line.endswith("|") for line in lines)
    assert "3 inconclusive" in lines[0]


IDS = ("20260101-000000-aaaa", "20260102-000000-bbbb")


def two(store, one, other=None, **more):
    """Two sessions of one run each."""
    runs = zip(IDS, (one, other or one), strict=True)
    return [put(store, made, id=id, **more) for id, made in runs]


MADE = measurement(ios=400)


@pytest.mark.promise("compare.failed")
def test_identical_figures_are_equal_and_a_failure_is_worse(store_path):
    """Whatever the metric; what has too few I/Os for one has a reason."""
    ids = two(store_path, run(1, MADE), status="ok")
    names = ("iops", "p90", "read.mean", "cpu")
    metrics = [word for name in names for word in ("--metric", name)]
    found = rows(compared(*ids, *metrics))
    assert {row["metric"] for row in found} == {*names}
    assert {row["verdict"] for row in found} == {"equal"}
    assert {(row["ratio"], row["low"]) for row in found} == {(1.0, None)}
    (few,) = rows(compared(*ids, "--metric", "p99.999"))
    assert few["verdict"] == "inconclusive" and "needs 1,000,000 I/Os" in few["why"]
    lost = run(1, MADE, status="failed", message="EIO at 0")
    sides = ids[0], put(store_path, lost, id="20260103-000000-cccc")
    done = ioplan("compare", *sides)
    assert done.code == 1 and "NEW failed: EIO at 0" in done.out
    assert ioplan("compare", *sides[::-1]).code == 0


def test_a_terminal_gets_what_is_decided_no_thousand_rows(store_path):
    """All of them are in --all, and in the other formats."""
    for id, made in zip(IDS, (MADE, measurement(2, ios=500)), strict=True):
        runs = [
            record(n, made, run_id=f"r{n}", cell={"n": str(n)}) for n in range(1, 61)
        ]
        if id == IDS[1]:
            runs[-1] = changed(runs[-1], status="failed", message="EIO")
        put(store_path, *runs, id=id)
    names = ("iops", "bandwidth", "mean", "min", "max", "p50", "p90")
    asked = [word for name in names for word in ("--metric", name)]
    done = ioplan("compare", *IDS, *asked)
    assert "NEW failed: EIO" in done.out and 300 < done.out.count(" n=") <= 400
    assert ioplan("compare", *IDS, "--all", *asked).out.count(" n=") > 410


def test_a_report_has_what_compare_has(pair, tmp_path):
    """Of the same two sessions, word for word."""
    base, new = (side.split(",")[0] for side in pair)
    page = tmp_path / "r.html"
    assert ioplan("report", base, new, "--output", page).code == 0
    root, html = ElementTree.fromstring(formatted(base, new, "junit")), page.read_text()
    for case in root.findall("testsuite[@name='All cells']/testcase"):
        text = case.findtext("system-out") or case[0].get("message", "")
        verdict = text.partition(", reason")[0]
        assert f">All cells, {case.get('name')}: {verdict}</li>" in html
    sentence = formatted(base, new, "github").splitlines()[0].rpartition("::")[2]
    assert f">{sentence.replace('%25', '%')}</li>" in html


HOSTILE = 'a|b <script>x</script>\n::error::x\x1b[31m]]>&"%0A\x00 @all [x](http://x)'


def test_hostile_names_are_text(store_path):
    one = run(1, test=HOSTILE, cell={HOSTILE: HOSTILE})
    base, new = two(store_path, one, plan=HOSTILE, target=HOSTILE)
    root = ElementTree.fromstring(formatted(base, new, "junit"))
    assert "<script>" in str(root[0].get("name"))
    github, markdown = (formatted(base, new, name) for name in ("github", "markdown"))
    assert all(line.startswith("::") for line in github.splitlines())
    assert "::error::x" not in re.sub(r"(?m)^::.*?::", "", github).split("\n")
    assert "\x1b" not in markdown and "<script>" not in markdown
    rest = re.sub(r"\\.", "", markdown)
    assert "<" not in rest and "](" not in rest and "@" not in rest
    done = ioplan("compare", base, new, "--all")
    assert "\x1b" not in done.out and not re.search(r"(?m)^::error", done.out)


@pytest.mark.promise("exit_codes.compare")
def test_what_cannot_be_compared(store_path):
    other = run(1, load={"pattern": "sequential"}, run_id="b")
    one, two_ = two(store_path, run(1), other)
    empty = put(store_path, id="20260103-000000-aaaa", status="interrupted")
    for words, said in (
        ((one, one), "on both sides"),
        ((one, two_), "no cell in common"),
        ((one, "nope"), "no session"),
        ((empty, one), "no run to compare: it is interrupted"),
        ((one, two_, "--format", "jason"), "did you mean 'json'?"),
        ((one, two_, "--threshold", "2"), "takes a share, for example 2%"),
        ((one, two_, "--noise", "1ms"), "takes a share, for example 2%"),
        ((one, two_, "--metric", "iopz"), "did you mean 'iops'?"),
        ((one, two_, "--metric", "errors"), "cannot be compared as a ratio"),
    ):
        done = ioplan("compare", *words)
        assert done.code == 2 and said in done.err and done.out == "", words
