"""What the documents show is what the program does, and their links lead somewhere."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import ioplan, plan_file, program, succeed
from paths import ROOT, TESTS
from scripts import packaging_script

from ioplan.cli import IOPLAN, Command, parse
from ioplan.runner import Identity, id_of
from ioplan.runner.guard import no_entry_text
from targets import loop_device, needs_root, sparse

README = ROOT / "README.md"
DOCS = ROOT / "docs"
DOCUMENTS = [
    README,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(DOCS.glob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]
EXAMPLES = sorted((ROOT / "examples").glob("*.ioplan"))
SUITES = sorted((ROOT / "plans").rglob("*.ioplan"))
FOLDERS = "docs|dsl|editors|examples|packaging|plans|plugins|tests"
DRIVE = Identity(
    kernel="nvme1n1", serial="S4EVNX0R123456", nsid=1, model="Samsung SSD 980 PRO 1TB"
)
FETCHED = re.compile(
    r'<(?:script|link|img|iframe)\b[^>]*?(?:src|href)="?(?:https?:)?//'
)


def blocks(kind, document):
    """The fenced blocks of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```", document.read_text(), re.S | re.M)


def squeezed(text):
    """Without the blanks at the ends of lines, and without blank lines."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


STARTED = DOCS / "getting-started.md"


@pytest.mark.promise("figures.simulated")
def test_the_demo_that_is_shown_gives_on_sim_what_is_shown(store_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    demo = Path("examples/demo.ioplan")
    done = ioplan("run", demo, "--backend", "sim", "--create", "1GiB")
    for document in (README, STARTED):
        assert blocks("ioplan", document)[0] == demo.read_text()
        assert squeezed(blocks("text", document)[0]) in squeezed(done.out)
    lines = [line for line in done.out.splitlines() if str(store_path) not in line]
    assert max(map(len, lines)) <= 80 and len(lines) <= 50


def test_the_refused_drive_in_the_readme(monkeypatch):
    """And its lines are a lab file that permits it."""
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    path, id = Path("/dev/nvme1n1"), id_of(DRIVE, [DRIVE])
    shown = blocks("text", README)[1]
    assert shown == f"error: {no_entry_text(path, DRIVE, id, None)}\n"
    assert f"--target {DRIVE.kernel} --overwrite {id}\n" in README.read_text()


def test_the_lines_in_the_readme_are_a_lab_file(tmp_path):
    (entry,) = re.findall(
        r"^\[targets.*?^writable = true$", README.read_text(), re.S | re.M
    )
    lab = plan_file(tmp_path, entry, "lab.toml")
    assert ioplan("lab", "check", "--lab", lab).code == 0


def test_the_import_that_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    document = DOCS / "import.md"
    job = plan_file(tmp_path, blocks("ini", document)[0], "rand.fio")
    done = ioplan("import", job.name)
    assert (done.code, done.out) == (0, blocks("ioplan", document)[0])


@pytest.mark.promise("first_minutes.check")
def test_the_diagnostic_that_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "\n" * 6 + "workload oltp = random 8KiB 70/40, qd 32\n"
    plan_file(tmp_path, text + 'test "T" { run oltp for 1s }', "review.ioplan")
    shown = squeezed(blocks("text", STARTED)[1])
    assert shown in squeezed(ioplan("check", "review.ioplan").err)


def test_the_steps_that_are_shown(monkeypatch):
    monkeypatch.chdir(ROOT)
    done = ioplan("plan", "examples/demo.ioplan", "--capacity", "512MiB")
    assert squeezed(blocks("text", STARTED)[2]) in squeezed(done.out)


@pytest.mark.parametrize("plan", EXAMPLES + SUITES, ids=lambda p: p.name)
def test_each_plan_is_in_layout(plan):
    assert ioplan("fmt", plan, "--check").code == 0


@pytest.mark.parametrize("plan", EXAMPLES, ids=lambda p: p.name)
def test_each_example_is_right(plan):
    succeed("check", plan)


# where they lead


def paths(document):
    """Links, and files of the repository that are named."""
    text = document.read_text()
    for target in re.findall(r"\]\((?!http)([^)#]+)", text):
        yield document.parent / target
    if document.name != "CHANGELOG.md":  # it names files of its time
        for name in re.findall(rf"`((?:{FOLDERS})/[^`\s:*<{{…]*)`", text):
            yield ROOT / name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_links_and_paths_lead_somewhere(document):
    assert not [path for path in paths(document) if not path.exists()]


def test_each_attack_is_tried_by_a_test_that_there_is():
    text = (DOCS / "security.md").read_text()
    rows = re.findall(r"\| (test_\w+\.py)<br>(test_\w+) \|$", text, re.M)
    files = {one.name: one.read_text() for one in TESTS.rglob("test_*.py")}
    missing = [row for row in rows if f"def {row[1]}(" not in files.get(row[0], "")]
    assert len(rows) > 50 and not missing


def test_the_architecture_names_each_package():
    text = (DOCS / "architecture.md").read_text()
    core = {
        path.name for path in (ROOT / "dsl/ioplan").iterdir() if any(path.glob("*.py"))
    }
    core |= {path.stem for path in (ROOT / "dsl/ioplan").glob("[!_]*.py")}
    names = core | {f"plugins/{path.name}" for path in (ROOT / "plugins").iterdir()}
    assert not {name for name in names if f"`{name}`" not in text}


def site(folder, added=""):
    """The documents as a site, with something added to the first of them."""
    shutil.copytree(DOCS, folder / "docs", dirs_exist_ok=True)
    shutil.copy2(ROOT / "mkdocs.yml", folder)
    with (folder / "docs/index.md").open("a") as index:
        index.write(added)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return program(*command, cwd=folder)


@pytest.mark.long
def test_the_site_fetches_nothing(tmp_path):
    done = site(tmp_path)
    assert done.returncode == 0, done.stderr
    pages = {
        page.name: page.read_text() for page in tmp_path.rglob("build/site/*.html")
    }
    assert {path.stem for path in DOCS.glob("*.md")} <= {
        Path(name).stem for name in pages
    }
    assert not [name for name, text in pages.items() if FETCHED.search(text)]


# what they list


def test_the_overview_lists_all_documents():
    linked = set(re.findall(r"\]\(([^)#]+\.md)", (DOCS / "index.md").read_text()))
    assert linked == {path.name for path in DOCS.glob("*.md")} - {"index.md"}


# the pages for newcomers: their commands run, and their pairs are what is imported

PATHS = packaging_script("reader_paths")
PAIRS = {
    "from-fio.md": ("ini", "job.fio", ()),
    "from-vdbench.md": ("text", "job.parm", ("vdbench",)),
}


def pairs():
    """Document, the other tool's text, and the plan beneath it."""
    found = []
    for name, (kind, _, _) in PAIRS.items():
        form = rf"^```{kind}\n(.*?)^```\n\n^```ioplan\n(.*?)^```"
        both = re.findall(form, (DOCS / name).read_text(), re.S | re.M)
        found += [(name, *one) for one in both]
    return found


def test_all_pairs_are_found():
    assert len(pairs()) == 8 and len(PATHS.PATHS) == 5


@pytest.mark.parametrize(("document", "text", "plan"), pairs())
def test_a_pair_is_what_is_imported(document, text, plan, tmp_path, monkeypatch):
    """Without a word of what would be lost."""
    monkeypatch.chdir(tmp_path)
    _, name, words = PAIRS[document]
    Path(name).write_text(text)
    done = ioplan("import", *words, name)
    lines = done.out.splitlines(keepends=True)
    assert (done.code, done.err) == (0, "")
    assert "".join(line for line in lines if not line.startswith("#")) == plan


@pytest.mark.long
@needs_root
@pytest.mark.parametrize("reader", PATHS.PATHS_AND_README)
@pytest.mark.promise("first_minutes.paths")
def test_each_step_of_a_path_works(reader, tmp_path, monkeypatch, store_path):
    """As they stand, but for the drive's names, and shorter."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    disk = sparse(tmp_path / "disk", PATHS.DISK_BYTES)
    with loop_device(disk, "--direct-io=on") as device:
        config = tmp_path / "config" / "ioplan"
        config.mkdir(parents=True)
        (config / "lab.toml").write_text(PATHS.lab_file(disk))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
        for words in PATHS.steps(reader, str(device), str(disk)):
            done = ioplan(*(first_session() if w == "SESSION" else w for w in words))
            reads_only = "quick/health" in words
            if words[0] == "run" and str(device) in words and not reads_only:
                assert done.code == 2 and "--overwrite" in done.err, f"{words}: {done}"
                continue
            assert done.code in (0, 1), f"{words}: {done.err}{done.out[-1000:]}"
            assert done.code == 0 or words[0] in PATHS.JUDGES, f"{words}: {done.out}"


def first_session():
    """The oldest of the store."""
    rows = json.loads(ioplan("ls", "--format", "json").out)["sessions"]
    return str(rows[-1]["id"])


# the commands of documents: each is one, and those on results work

PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def commands(document):
    """The calls of ioplan in a document's shell blocks, one a line."""
    text = document.read_text()
    for kind, block in re.findall(r"^```(sh|console)\n(.*?)^```", text, re.S | re.M):
        for line in block.replace("\\\n", " ").splitlines():
            shown = (
                line.removeprefix("$ ")
                if kind == "console" or line[:2] == "$ "
                else line
            )
            if re.match(r"(sudo )?ioplan ", shown):
                yield shown.removeprefix("sudo ")


def words_of(line):
    """Its words behind `ioplan`, up to a pipe or what it is written to."""
    words = shlex.split(line, comments=True)[1:]
    ends = [n for n, word in enumerate(words) if word in ("|", ">", "&&")]
    return words[: ends[0]] if ends else words


SHOWN = {(one, line) for one in PAGES for line in commands(one)}


@pytest.mark.parametrize(
    ("document", "line"), sorted(SHOWN), ids=lambda x: getattr(x, "name", x)
)
def test_it_is_a_call(document, line):
    """Its commands and options are there, and each option has its value."""
    assert isinstance(parse(words_of(line), IOPLAN).entry, Command)


BY_NAME = re.compile(
    r"pip install (?!.*--no-index)[^;|&,]*?['\" ]ioplan(\[[\w,]+\])?(?=['\"`\s]|==|$)(?! @)"
)
WRITTEN = ("*.md", "*.py", "*.yml", "*.sh", "Makefile", "Containerfile", "run", "demo")
INSTALLED_HERE = "return f\"{quote(sys.executable)} -m pip install 'ioplan["


@pytest.mark.slow
def test_nothing_installs_a_package_of_our_name_from_an_index():
    """It is not published, so that one of the name would be a stranger's."""
    assert BY_NAME.search("pip install 'ioplan[lab]'")
    assert BY_NAME.search("pip install --upgrade ioplan==0.1.0")
    assert not BY_NAME.search('pip install "ioplan[lab] @ file:///x.whl"')
    tracked = subprocess.check_output(
        ["git", "ls-files", *WRITTEN], cwd=ROOT, text=True
    )
    files = (Path(one) for one in tracked.splitlines() if not one.startswith("tests/"))
    found = [
        f"{path}: {line.strip()}"
        for path in files
        for line in (ROOT / path).read_text().splitlines()
        if BY_NAME.search(line) and "Once it is published" not in line
    ]
    assert [x for x in found if INSTALLED_HERE not in x] == []


PLAN = """
test "Random reads" {
  run random 4KiB 100/0, qd 4 for 400ms
  vary qd in 1, 32
  chart lines iops by qd
}
test "Read share" { run random 4KiB 70/30, qd 4 for 200ms chart lines iops over time }
"""
OF_RESULTS = ("results.md", "compare.md", "history.md")


@pytest.fixture
def measured(tmp_path, store_path, monkeypatch):
    """Six sessions of one plan in the store, newest first."""
    monkeypatch.chdir(tmp_path)
    Path("plan.ioplan").write_text(PLAN)
    for number in range(6):
        tag = ("--tag", f"n{number}")
        succeed("run", "plan.ioplan", "--backend", "sim", *tag)
    return re.findall(r"^\d{8}-\d{6}-\w+", ioplan("ls", "--format", "csv").out, re.M)


ELSEWHERE = {"--drive", "--only", "--preparations", "x.ioplan-bundle"}
"""Words of lines that need what the six sessions do not have."""


@pytest.mark.long
@pytest.mark.parametrize("page", OF_RESULTS)
def test_what_a_page_shows_of_results_works(page, measured):
    """In its order; left out is what needs a drive, Chromium or a server."""
    assert len(measured) == 6
    ran = 0
    for line in commands(DOCS / page):
        words = [adapted(word, measured) for word in words_of(line)]
        if words[0] in ("run", "plan") or ELSEWHERE & {*words}:
            continue
        done = ioplan(*words)
        assert done.code in (0, 1), f"{line}\n{done.err}"
        assert done.code == 0 or words[0] in ("answer", "compare", "history"), line
        ran += 1
    assert ran >= 2


def adapted(word, sessions):
    """A session in place of the word that stands for one."""
    known = {"BASE": "A1", "NEW": "B1", "SESSION": "A1", "last": "B1"}
    places = dict(zip(("A1", "A2", "A3", "B1", "B2", "B3"), sessions, strict=True))
    found = [places.get(known.get(one, one), one) for one in word.split(",")]
    return ",".join(found).replace("10s..20s", "0s..1s")
