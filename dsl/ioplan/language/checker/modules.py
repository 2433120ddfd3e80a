"""Files that use files: loading them, and what each name means in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from ioplan.core.text import did_you_mean
from ioplan.language.errors.collector import Findings
from ioplan.language.errors.diagnostic import Diagnostic
from ioplan.language.search.file_name import goes_down
from ioplan.language.search.packages import SuiteError
from ioplan.language.search.search_path import (
    Folders,
    SearchPath,
    check_pinned,
    named_folders,
    no_folders,
    project_folder,
)
from ioplan.language.syntax import tree
from ioplan.language.syntax.parser import parse
from ioplan.language.syntax.source import Source, Span
from ioplan.trace.facts import TraceError
from ioplan.trace.known import KnownTrace, known_survey

MOST_BYTES = 4 << 20
MOST_FILES = 100

Definition = tree.Param | tree.Trace | tree.Workload | tree.Precondition
TAKEN: dict[type, tuple[str, ...]] = {
    tree.Param: ("size", "random", "sequential", "verify", "permuted"),
    tree.Trace: (),
    tree.Workload: ("random", "sequential", "replay"),
    tree.Precondition: ("purge", "write", "idle"),
}
"""Words that the grammar reads as its own where such a name could be used."""
MOST_NAMES = 200
NEEDS_FILE: dict[type, tuple[str, str]] = {
    tree.Use: ("'use'", 'use "std/workloads.ioplan"'),
    tree.Trace: ("a trace", 'trace web = "web.iotrace"'),
}


def sort_of(definition: Definition) -> str:
    """What kind of thing a name is, for messages."""
    return f"a {type(definition).__name__.lower()}"


def installed_plans() -> Path:
    """The folder of the suites that come with ioplan."""
    return Path(__file__).parents[2] / "plans"


def library_roots(plan: Path) -> tuple[Path, ...]:
    """Where `use` looks: beside the plan, in its project, in IOPLAN_PATH, among suites.

    After that come the folders of the lab, which the language does not know.
    """
    folders = (plan.parent, *project_folder(plan), *named_folders(), installed_plans())
    return tuple(dict.fromkeys(folders))


class Module(Struct, frozen=True):
    """One file: its own definitions, and the files that it uses by prefix.

    `name` is what others use it by; empty for the plan itself.
    """

    source: Source
    file: tree.File
    name: str = ""
    own: dict[str, Definition] = {}
    used: list[tuple[str | None, Module]] = []
    traces: dict[str, KnownTrace] = {}

    def find(self, name: str) -> tuple[Definition, Module] | None:
        """What a name means here, and the module that it comes from."""
        if name in self.own:
            return self.own[name], self
        prefix, _, rest = name.rpartition(".")
        for alias, module in self.used:
            if (alias or "") == prefix and rest in module.own:
                return module.own[rest], module
        return None

    def names(self, *kinds: type) -> Iterator[str]:
        """All names that mean something of these kinds here."""
        for name, definition in self.own.items():
            if isinstance(definition, kinds):
                yield name
        for alias, module in self.used:
            for name, definition in module.own.items():
                if isinstance(definition, kinds):
                    yield f"{alias}.{name}" if alias else name

    def suggestion(self, name: str, *kinds: type) -> str:
        """`, did you mean …?`, or nothing."""
        return did_you_mean(name, islice(self.names(*kinds), MOST_NAMES))


class Loader:
    """Loads a file and all that it uses, each once; `texts` by the names in `use`.

    Where files are edited, `read` knows their text, and `parse` what was parsed before.
    """

    def __init__(
        self,
        roots: tuple[Path, ...],
        findings: Findings,
        read: Callable[[Path], str] | None = None,
        parse: Callable[[Source], tuple[tree.File, list[Diagnostic]]] = parse,
        more: Folders = no_folders,
        survey: Callable[[Path], KnownTrace] = known_survey,
    ) -> None:
        self.survey = survey
        self.path = SearchPath(roots, more)
        self.findings = findings
        self.read, self.parse = read or read_text, parse
        self.loaded: dict[Path, Module] = {}
        self.texts: dict[str, str] = {}
        self.traces: dict[str, KnownTrace] = {}
        self.under_way: list[Path] = []

    def module(
        self, source: Source, path: Path | None = None, name: str = ""
    ) -> Module:
        """Parse a source, then the files that it uses."""
        file, errors = self.parse(source)
        self.findings.found += errors
        self.findings.mark_unparsed(file.damaged)
        module = Module(source, file, name)
        if path:
            self.loaded[path] = module
            self.under_way.append(path)
            if not name:
                self._check_pinned(module, path)
        self._define(module)
        for item in file.items:
            if isinstance(item, tree.Use):
                self._use(module, item)
            elif isinstance(item, tree.Trace):
                self._trace(module, item)
        if path:
            self.under_way.pop()
        return module

    def _check_pinned(self, module: Module, path: Path) -> None:
        """A plan of a suite that was changed since it was taken is not used."""
        try:
            check_pinned(path)
        except (SuiteError, OSError) as error:
            self.findings.error(str(error), place(module))

    def _define(self, module: Module) -> None:
        for item in module.file.items:
            if isinstance(item, Definition):
                self._define_one(module, item)

    def _define_one(self, module: Module, item: Definition) -> None:
        name = item.name
        self._check_name(item)
        earlier = module.own.get(name.text)
        if earlier:
            line, _ = module.source.position(earlier.span.start)
            self.findings.error(
                f"{name.text!r} is defined already, in line {line}",
                name.span,
                "give it another name",
            )
        module.own.setdefault(name.text, item)

    def _check_name(self, item: Definition) -> None:
        """A name that could never be used is a slip of the pen."""
        name = item.name
        if "." in name.text:
            self.findings.error(
                f"{name.text!r} has a dot; only names from used files have one",
                name.span,
                f"for example {name.text.replace('.', '_')}",
            )
        if name.text in TAKEN[type(item)]:
            self.findings.error(
                f"{name.text!r} is a word of the language",
                name.span,
                "give it another name",
            )

    def _use(self, module: Module, use: tree.Use) -> None:
        found = self._find(module, use)
        if found is None:
            self.findings.mark_missing(use.alias.text if use.alias else "")
            return
        name, path = found
        if path in self.under_way:
            self._cycle(use, path)
            return
        used = self.loaded.get(path) or self._load(use, name, path)
        if used is None:
            self.findings.mark_missing(use.alias.text if use.alias else "")
            return
        self.texts[name] = used.source.text
        alias = use.alias.text if use.alias else None
        self._check_clash(module, used, use, alias)
        module.used.append((alias, used))

    def _trace(self, module: Module, trace: tree.Trace) -> None:
        """What planning knows of a trace is used like the text of a file."""
        found = self._find(module, trace)
        if found is None:
            return
        name, path = found
        try:
            known = self.survey(path)
        except (OSError, TraceError) as error:
            why = (isinstance(error, OSError) and error.strerror) or str(error)
            self.findings.error(
                f"the trace {trace.path.text!r}: {why}",
                trace.path.span,
                f"make one: ioplan trace convert {trace.path.text} -o NAME.iotrace",
            )
            return
        module.traces[trace.name.text] = self.traces[name] = known

    def files(self) -> dict[str, str]:
        """The texts of all that was used; of traces, what was asked of them."""
        traces = {name: known.as_text() for name, known in self.traces.items()}
        return {**self.texts, **traces}

    def _load(self, use: tree.Use, name: str, path: Path) -> Module | None:
        if len(self.loaded) >= MOST_FILES:
            self.findings.error(
                f"the plan uses more than {MOST_FILES} files", use.path.span
            )
            return None
        try:
            text = self.read(path)
        except OSError as error:
            why = error.strerror or str(error)
            self.findings.error(f"cannot read {use.path.text!r}: {why}", use.path.span)
            return None
        except ValueError as error:
            self.findings.error(f"{use.path.text!r}: {error}", use.path.span)
            return None
        return self.module(Source(name, text), path, name)

    def _find(
        self, module: Module, use: tree.Use | tree.Trace
    ) -> tuple[str, Path] | None:
        """The file and its name, if it is inside one of the roots."""
        text = use.path.text
        if not text:
            self.findings.error(
                f"{NEEDS_FILE[type(use)][0]} needs a file name",
                use.path.span,
                f"for example {NEEDS_FILE[type(use)][1]}",
            )
            return None
        if not goes_down(text):
            self.findings.error(
                f"{text!r} leaves the plan's folder",
                use.path.span,
                "name a file below the plan's folder, or below one of IOPLAN_PATH",
            )
            return None
        try:
            found = self.path.find_from(module.name, text)
        except SuiteError as error:
            self.findings.error(str(error), use.path.span)
            return None
        if found is None:
            self._not_found(text, use)
        return found

    def _not_found(self, text: str, use: tree.Use | tree.Trace) -> None:
        if led := self.path.link_out(text):
            self.findings.error(
                f"{text!r} is a link to a file outside, {led}",
                use.path.span,
                f"copy the file, or add {led.parent} to IOPLAN_PATH",
            )
            return
        self.findings.error(
            f"there is no file {text!r}{did_you_mean(text, self.path.known())}",
            use.path.span,
            "searched: the folder of the file that uses it, the plan's folder, the "
            "folder of the nearest ioplan.toml, IOPLAN_PATH, the suites, and the "
            "lab's plans",
        )

    def _cycle(self, use: tree.Use, path: Path) -> None:
        names = [p.name for p in self.under_way[self.under_way.index(path) :]]
        way = " uses ".join([*names, path.name])
        self.findings.error(f"files use each other in a cycle: {way}", use.path.span)

    def _check_clash(
        self, module: Module, used: Module, use: tree.Use, alias: str | None
    ) -> None:
        """A name must not come from two files."""
        full = (f"{alias}.{name}" if alias else name for name in used.own)
        clashes = [name for name in full if module.find(name)]
        if not clashes:
            return
        others = f" (and {len(clashes) - 1} more)" if len(clashes) > 1 else ""
        self.findings.error(
            f"{clashes[0]!r}{others} from {use.path.text!r} is defined already",
            use.path.span,
            f"give the file a prefix: use {use.path.span.text} as NAME",
        )


def read_text(path: Path) -> str:
    """A plan's text. Raises OSError, and ValueError when it is no text."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        # a pipe that nobody writes to would be waited for
        raise ValueError("not a regular file; write the plan to a file")
    with path.open("rb") as file:
        return text_of(file.read(MOST_BYTES + 1))


def text_of(data: bytes) -> str:
    """What was read of a plan, as text. Raises ValueError when it is none."""
    if len(data) > MOST_BYTES:
        raise ValueError(
            f"the file is larger than {MOST_BYTES >> 20} MiB; is it a plan?"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"not a UTF-8 text (byte {error.start}); is it a plan?"
        ) from None


def place(module: Module) -> Span:
    """The start of a module, for what concerns all of it."""
    return Span(module.source, 0, min(1, len(module.source.text)))
