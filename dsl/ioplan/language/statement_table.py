"""What stands in a file and in its blocks: each word, how it is written, what it means.

The clauses of a workload have a table of their own. From both come the reference, and
what an editor says of a word and offers in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

HOLE = re.compile(r"\$\{\d+:([^}]*)\}|\$0")


class Statement(Struct, frozen=True):
    """An item of a file, a statement of a test, a step, or what says how long.

    `forms` are how it is written, each with its meaning. `template` is one to fill in,
    with editors' holes: `${1:example}`, and `$0` where the writing goes on.
    """

    word: str
    forms: dict[str, str]
    template: str
    notes: tuple[str, ...] = ()

    @property
    def example(self) -> str:
        """The template with the examples in its holes."""
        return HOLE.sub(lambda hole: hole[1] or "", self.template)

    def rows(self) -> Iterator[str]:
        """Its rows of the reference."""
        for form, meaning in self.forms.items():
            yield f"| {form} | {meaning} |"


ITEMS = (
    Statement(
        "plan",
        {'`plan "Title"`': "the plan's title; at most once"},
        'plan "${1:Title}"',
    ),
    Statement(
        "use",
        {
            '`use "std/workloads.ioplan" as std`': "imports the names of another "
            "file, with or without a prefix. The file is searched for next to the "
            "file that uses it, in the plan's folder, the folder of the nearest "
            "`ioplan.toml`, those of `IOPLAN_PATH`, the suites, and the lab's "
            "`plans`. Imports are not transitive. A file without tests is a library; "
            "`check` accepts it too"
        },
        'use "${1:std/preconditions.ioplan}" as ${2:pre}',
    ),
    Statement(
        "trace",
        {
            '`trace web = "web.iotrace"`': "a recorded trace, which `replay web` "
            "replays ([traces.md](traces.md)). The file is searched for as by `use`; "
            "`ioplan trace convert` makes one of other formats"
        },
        'trace ${1:web} = "${2:web.iotrace}"',
    ),
    Statement(
        "param",
        {
            "`param run_time = 3min`": "a named value; `--set run_time=10s` "
            "overrides it with a value of the same kind. Only params that a test "
            "uses can be set"
        },
        "param ${1:run_time} = ${2:1min}",
    ),
    Statement(
        "profile",
        {
            "`profile smoke { run_time = 1s … }`": "a named set of param values, "
            "selected by `--profile smoke`. The default profile, `full`, has the "
            "values of the `param` lines. `--set` overrides a profile. Profiles of "
            "other files are not imported; their params are set by the names that "
            "they have in this file. `pre.steady4k = pre.shaped4k` has the tests that "
            "name the first precondition begin with the second; other preconditions "
            "that build on the first do not change"
        },
        "profile ${1:smoke} {\n  ${2:run_time} = ${3:1s}$0\n}",
    ),
    Statement(
        "on failure",
        {
            "`on failure stop`, `on failure continue`": "after a failed run, end the "
            "session or continue with the next cell. The default is the lab's "
            "setting, else `stop`"
        },
        "on failure ${1:continue}",
    ),
    Statement(
        "on unsteady",
        {
            "`on unsteady fail`, `on unsteady continue`": "whether the exit code is "
            "1 if a requested steady state is not reached, as for a failed "
            "expectation. The default is `fail`; the report shows it in both cases"
        },
        "on unsteady ${1:continue}",
    ),
    Statement(
        "on nothing found",
        {
            "`on nothing found fail`, `on nothing found continue`": "whether the exit "
            "code is 1 if a seek finds no value, as for a failed expectation. The "
            "default is `fail`; the report shows it in both cases"
        },
        "on nothing found ${1:continue}",
    ),
    Statement(
        "accept",
        {
            '`accept "unwritten reads"`': "disables a kind of warning, see "
            "[Warnings](#warnings)",
            '`accept "tests left out"`': "runs the tests that a backend supports "
            "exactly, and lists the others, as `--only-exact` does",
        },
        'accept "${1:unwritten reads}"',
    ),
    Statement(
        "workload",
        {
            "`workload NAME = …`": "one stream of I/O",
            "`workload NAME { reader = … writer = … }`": "several concurrent streams",
        },
        "workload ${1:oltp} = ${2:random} ${3:8KiB} ${4:70/30}, qd ${5:32}$0",
    ),
    Statement(
        "precondition",
        {
            "`precondition NAME { … }`": (
                "the steps that bring the target into a known state"
            )
        },
        "precondition ${1:filled} {\n"
        "  write sequential ${2:128KiB}, qd ${3:8}, ${4:1 pass}$0\n}",
    ),
    Statement(
        "test",
        {'`test "Title" { … }`': "what to measure"},
        'test "${1:Title}" {\n  run    ${2:random 4KiB 100/0} for ${3:1min}$0\n}',
    ),
)

STATEMENTS = (
    Statement(
        "after",
        {
            "`after X`": "prepares the target before the first run",
            "`after X before each AXIS`": "and again whenever the value of the axis "
            "changes; also `before each run` and `before each round`",
            "`after X then Y before each AXIS`": "`X` once, then the steps of `Y` "
            "before the first run and whenever the axis changes, regardless of the "
            "target's state",
        },
        "after  ${1:filled}",
    ),
    Statement(
        "run",
        {
            "`run WORKLOAD for T, warmup T`": "a run; its limit is a time, bytes (`for "
            "10GiB`) or passes (`, 2 passes`)",
            "`run WORKLOAD, until steady METRIC every T, at most 4 passes`": "a run "
            "that ends when it is steady; `for 24h` also limits its time",
            "`run WORKLOAD for T, cut power at T1..T2`": "a run in which the target "
            "loses its power, see [`durability.md`](durability.md)",
            '`run WORKLOAD for T, event "NAME" at T1..T2`': "a run during which the "
            "lab does something, see [`events.md`](events.md)",
            "`run … as NAME`": "names the step: its metrics are `NAME.iops` and so on",
        },
        "run    ${1:random} ${2:4KiB} ${3:100/0} for ${4:1min}",
    ),
    Statement("idle", {"`idle T`": "no I/O for this time"}, "idle   ${1:10s}"),
    Statement(
        "repeat",
        {"`repeat N { … }`": "repeats steps"},
        "repeat ${1:3} {\n  run  ${2:random 4KiB 100/0} for ${3:1min}$0\n}",
    ),
    Statement(
        "vary",
        {
            "`vary AXIS in …`": "one dimension of the matrix; the first is the "
            "outermost loop"
        },
        "vary   ${1:qd} in ${2:1..32 doubling}",
    ),
    Statement(
        "skip",
        {
            "`skip when …`": "omits cells; if the condition depends on a param, it may "
            "match none",
        },
        "skip when ${1:qd} ${2:>} ${3:64}",
    ),
    Statement(
        "rounds",
        {
            "`rounds until steady METRIC when CELL, at most N`": "repeats the whole "
            "matrix until one cell is in steady state",
            "`rounds until every cell within 3%, at most N`": "repeats each cell until "
            "the mean of its rounds is known within 3 % at 95 % confidence; `every "
            "cell mean` for another metric than IOPS. See [Rounds](#rounds)",
            "`…, within 3%`": "after `until steady`: leaves out cells that are known "
            "so well; 0 % leaves out none",
            "`…, order drawn`": "draws the order of the cells for each round; "
            "`order kept`, the default, is that of `vary`",
        },
        "rounds until steady ${1:iops}, at most ${2:25}",
    ),
    Statement(
        "seek",
        {
            "`seek highest AXIS in A..B where CONDITION`": "finds, for each cell of "
            "the other axes, the highest value at which the condition on metrics "
            "holds; "
            "`lowest` as well. See [Seek](#seek)",
            "`…, within 3%, at most 40 runs, confirm 2min`": "the accuracy (default "
            "5 %; integers are found exactly), the maximum number of runs, and the "
            "duration of the confirming run (default: four times the run)",
            "`seek knee AXIS in A..B of 90%`": "finds the smallest value that "
            "reaches this share of the highest throughput (default 95 %)",
        },
        "seek   highest ${1:qd} in ${2:1..256} where ${3:p99 <= 1ms}",
    ),
    Statement(
        "expect",
        {
            "`expect METRIC OP QUANTITY when …`": "a pass/fail criterion",
            "`expect METRIC OP SHARE of METRIC`": "compares with another metric of "
            "the same cell: `later.iops >= 90% of before.iops`",
            "`expect METRIC during PHASE OP QUANTITY`": "judges a part of the run, "
            "see [phases](#phases)",
            "`expect intervals of METRIC above QUANTITY OP SHARE`": "judges how many "
            "intervals of the run are above a limit, or `below` it, see "
            "[metrics](#metrics-of-intervals)",
        },
        "expect ${1:p99} ${2:<} ${3:2ms}",
    ),
    Statement(
        "headline",
        {
            "`headline METRIC at CONDITION`": "the figure that summarizes and "
            "ranks the test, in the cell that meets the condition; of several, the "
            "worst. Without any, a rule chooses"
        },
        "headline ${1:p99} at ${2:qd == 1}",
    ),
    Statement(
        "chart",
        {
            "`chart KIND METRIC, … by AXIS per AXIS, log y`": "a chart; without any, "
            "charts are derived from the axes"
        },
        "chart  ${1:lines} ${2:iops} by ${3:qd}",
    ),
)

PREPARES = (
    Statement("purge", {"`purge`": "erases the target"}, "purge"),
    Statement(
        "write",
        {
            "`write WORKLOAD, 2 passes`": "writes until the limit, in passes or "
            "time: `for 1h`",
            "`write WORKLOAD, until steady METRIC every T, at most 4 passes`": "writes "
            "until it is steady",
        },
        "write ${1:sequential} ${2:128KiB}, qd ${3:8}, ${4:1 pass}",
    ),
)

TIMING = (
    Statement(
        "for",
        {"`for 1min`, `for 10GiB`": "the length of a run: a time, or bytes"},
        "for ${1:1min}",
    ),
    Statement(
        "warmup",
        {"`warmup 10s`": "I/O before the measured part of the run"},
        "warmup ${1:10s}",
    ),
    Statement(
        "interval",
        {
            "`interval 100ms`": "how long the intervals of the run are, 10 ms at "
            "least; `--interval` does not change them"
        },
        "interval ${1:100ms}",
    ),
    Statement(
        "cut",
        {
            "`cut power at 30s`, `cut power at 5s..110s`": "cuts the target's power "
            "this long after the first I/O, at a moment drawn from the range, and "
            "gives it back; the lab file has the commands (`power_control`)"
        },
        "cut power at ${1:5s}..${2:50s}",
    ),
    Statement(
        "event",
        {
            '`event "path A down" at 60s`, `event "rebuild" at 30s..90s`': "runs a "
            "command of the lab file (`events`) this long after the first I/O, at a "
            "moment drawn from the range"
        },
        'event "${1:path A down}" at ${2:60s}',
    ),
    Statement(
        "until",
        {
            "`until steady METRIC every T`": "ends when the metric is in steady "
            "state, evaluated every T; for rounds, after each round",
            "`until steady waf every 1%`": "the same of a precondition's write, each "
            "time that 1 % of a pass is written; `waf` needs a drive whose log "
            "counts what goes to its flash, and is steady only once it is above 1.02",
        },
        "until steady ${1:iops} every ${2:1min}, at most ${3:4 passes}",
    ),
    Statement(
        "at least",
        {
            "`at least 2 passes`": (
                "steady state is not evaluated before this much is written"
            )
        },
        "at least ${1:2 passes}",
    ),
    Statement(
        "at most",
        {
            "`at most 4 passes`, `at most 25`": (
                "when to stop if steady state is not reached"
            )
        },
        "at most ${1:4 passes}",
    ),
    Statement(
        "over",
        {"`over 5`": "the number of values in the steady-state window; 5 by default"},
        "over ${1:5}",
    ),
    Statement(
        "range",
        {
            "`range 20%`": "the maximum of (largest value - smallest value) / mean "
            "in steady state; 20 % by default"
        },
        "range ${1:20%}",
    ),
    Statement(
        "slope",
        {
            "`slope 10%`": "the maximum change of the least-squares line over the "
            "window, relative to the mean, in steady state; 10 % by default"
        },
        "slope ${1:10%}",
    ),
)

BY_WORD = {one.word: one for one in (*ITEMS, *STATEMENTS, *PREPARES, *TIMING)}
