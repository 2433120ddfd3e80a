"""What a shell reads to complete words of `ioplan`, and where it reads that."""

from __future__ import annotations

import os
from pathlib import Path

from ioplan.core.error_kinds import ExplainedError
from ioplan.runner.guard.output import check_output, rewrite

BASH = """\
_ioplan_completion() {
    local IFS=$'\\n'
    COMPREPLY=( $( env COMP_WORDS="${COMP_WORDS[*]}" \\
                   COMP_CWORD=$COMP_CWORD \\
                   _IOPLAN_COMPLETE=complete_bash $1 ) )
    case "${COMPREPLY[0]}" in */|*=) compopt -o nospace 2>/dev/null ;; esac
    return 0
}

complete -o default -F _ioplan_completion ioplan
"""
ZSH = """\
#compdef ioplan

_ioplan_completion() {
    local -a found
    found=("${(@f)$(env COMP_WORDS="${words[1,$CURRENT]}" \\
                    _IOPLAN_COMPLETE=complete_zsh ioplan)}")
    if [[ -n "$found" ]]; then _describe 'ioplan' found; else _files; fi
}

compdef _ioplan_completion ioplan
"""
FISH = """\
function _ioplan_completion
    set --local words (commandline --current-process --cut-at-cursor | string collect)
    env _IOPLAN_COMPLETE=complete_fish COMP_WORDS="$words" ioplan
end

complete --command ioplan --arguments "(_ioplan_completion)"
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
PLACES = {
    "bash": ".bash_completions/ioplan.sh",
    "zsh": ".zfunc/_ioplan",
    "fish": ".config/fish/completions/ioplan.fish",
}
"""Below the user's home."""


class NoShellError(ExplainedError):
    """There is no completion for the shell; the text says for which there is."""


def script() -> str:
    """What the shell that called has to read. Raises NoShellError."""
    return SCRIPTS[_shell()]


def install() -> str:
    """Write the script where the shell reads it; what to tell. Raises NoShellError."""
    shell, home = _shell(), Path.home()
    place = home / PLACES[shell]
    place.parent.mkdir(parents=True, exist_ok=True)
    rewrite(place, SCRIPTS[shell].encode())
    if shell == "bash":
        _add_line(home / ".bashrc", f"source '{place}'")
    if shell == "zsh":
        _add_line(home / ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit")
    return f"completion for {shell} is in {place}; it works in new shells\n"


def _add_line(file: Path, line: str) -> None:
    """A line at the end of a file of the shell's, once; people link these files."""
    file = file.resolve()
    check_output(file)
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    if line not in text.splitlines():
        before = "" if not text or text.endswith("\n") else "\n"
        rewrite(file, f"{text}{before}{line}\n".encode())


def _shell() -> str:
    """The shell that called, else the user's. Raises NoShellError."""
    known = [_name_of(os.getppid()), Path(os.environ.get("SHELL", "")).name]
    for name in known:
        if name in SCRIPTS:
            return name
    raise NoShellError(
        f"there is no completion for {known[0] or 'this shell'}; there is for: "
        f"{', '.join(SCRIPTS)}"
    )


def _name_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""
