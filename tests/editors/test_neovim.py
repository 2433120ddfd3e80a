"""The real thing: Neovim with the plugin and the server, by keys."""

import shutil

import pytest
from neovim import NEWER, Neovim

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("nvim") is None, reason="LEFT OUT: nvim is not installed"
    ),
]

LIBRARY = "workload mixed = random 8KiB 70/30\n"
PLAN = """use "lib.ioplan" as lib
test "T" {
  run lib.mixed,  qd 8  for 1s
}
test "U" { run random 4kb 100/0 for 1s }
"""
WRITTEN = """test "Reads" {
  run    random 4KiB 100/0, qd 8 for 10s
  vary   read in 70%
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("plans").resolve()
    (made / "lib.ioplan").write_text(LIBRARY)
    (made / "plan.ioplan").write_text(PLAN)
    return made


@pytest.fixture(scope="module")
def nvim(folder):
    started = Neovim(folder, folder / "plan.ioplan")
    try:
        yield started
    finally:
        started.end()


def test_diagnostics(nvim):
    (found,) = nvim.until(nvim.messages, "diagnostics")
    assert "unknown unit 'kb'" in found and "did you mean 4KiB?" in found


def test_hover(nvim):
    nvim.keys("3G0fq:lua vim.lsp.buf.hover()<CR>")
    assert "outstanding I/Os" in nvim.until(nvim.floating, "hover")
    nvim.keys("<Esc>gg")
    nvim.until(lambda: not nvim.floating(), "end of the hover")


def test_rename_across_files(nvim):
    nvim.keys("3G0fm:lua vim.lsp.buf.rename('blend')<CR>")
    nvim.until(lambda: "lib.blend" in nvim.rows[2], "new name")
    library = "join(getbufline('lib.ioplan', 1, '$'))"
    assert nvim.ask(library).startswith("workload blend =")


def test_layout_on_save(nvim, folder):
    nvim.keys(":%s/4kb/4KiB/<CR>:wall<CR>")
    file = folder / "plan.ioplan"
    laid_out = "  run    lib.blend, qd 8 for 1s\n"
    nvim.until(lambda: laid_out in file.read_text(), "layout")
    assert nvim.until(lambda: not nvim.messages(), "end of the errors")


def test_a_test_is_written_with_completion(nvim, folder):
    nvim.keys(":edit new.ioplan<CR>i")
    nvim.choose("test")
    nvim.keys('<Esc>0ci"Reads<Esc>A<CR>run ')
    for label in ("random", "4KiB", "100/0"):
        nvim.choose(label)
        nvim.keys(" ")
    nvim.keys("<BS>, ")
    nvim.choose("qd")
    nvim.keys("<C-w>8 ")
    nvim.choose("for")
    nvim.keys("<C-w>")
    nvim.choose("10s")
    nvim.keys("<CR>vary ")
    nvim.choose("read")
    nvim.keys(" in ")
    nvim.choose("70%")
    nvim.keys("<CR>")
    nvim.choose("}")
    nvim.keys("<Esc>:write<CR>")
    file = folder / "new.ioplan"
    nvim.until(lambda: file.exists() and file.read_text(), "file")
    assert file.read_text() == WRITTEN


@pytest.mark.skipif(
    not NEWER.exists(), reason="LEFT OUT: make test-tools was not done (Neovim)"
)
def test_colours_are_the_servers(tmp_path):
    (tmp_path / "lib.ioplan").write_text(LIBRARY)
    (tmp_path / "plan.ioplan").write_text(PLAN)
    words = {"use": 0, '"lib': 0, "mixed": 2, "qd": 2, "8": 2}
    nvim = Neovim(tmp_path, tmp_path / "plan.ioplan", str(NEWER))
    try:
        nvim.until(lambda: nvim.token_at(0, "use"), "tokens")
        types = {word: nvim.token_at(row, word) for word, row in words.items()}
    finally:
        nvim.end()
    assert types == {
        "use": ["keyword"],
        '"lib': ["string"],
        "mixed": ["function"],
        "qd": ["property"],
        "8": ["number"],
    }
