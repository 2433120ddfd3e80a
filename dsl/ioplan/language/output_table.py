"""What each metric and each kind of chart is."""

from __future__ import annotations

from msgspec import Struct

METRIC_MEANINGS = {
    "iops": "I/Os completed per second",
    "bandwidth": "bytes moved per second",
    "mean": "mean latency; with a rate, from the intended start of each I/O",
    "min": "the shortest latency",
    "max": "the longest latency",
    "stddev": "standard deviation of the latencies",
    "errors": "I/Os that failed",
    "verified": "share of the data read whose content was verified",
    "gap": "longest time without a completed I/O",
    "lateness": (
        "p99 of how much later than recorded the I/Os of a replay were issued; what "
        "waits for a place in the queue depth is late, too"
    ),
    "cpu": "CPU time of the load generator, in percent of one CPU",
    "iops_per_cpu": "I/Os per second for each percent of `cpu`",
    "system_cpu": "CPU time of the whole machine, in percent of one CPU",
    "iops_per_system_cpu": "I/Os per second for each percent of `system_cpu`",
    "stack_cpu": (
        "CPU time of the I/O stack below the load generator, in percent of one CPU"
    ),
    "iops_per_stack_cpu": "I/Os per second for each percent of `stack_cpu`",
    "watts": "mean power",
    "iops_per_watt": "I/Os per second for each watt",
    "bandwidth_per_watt": "bytes per second for each watt",
    "temperature": "highest temperature of the drive",
    "waf": "write amplification: bytes written to flash per byte written by the host",
    "media_written": "bytes that the drive wrote to flash, from its log",
    "dwpd": "drive writes per day at the write rate of the run",
    "recovery": (
        "time from an event until p99 stays within 120 % of its level before; "
        "`recovery of p99 to 120% for 10s` says it otherwise"
    ),
    "lost_work": "I/Os that were not done since an event, at the rate before it",
    "sustained": "IOPS of the last level of a run, when its burst is used up",
    "sustained_bandwidth": "bytes per second of the last level of a run",
    "burst": "I/Os that were done before that beyond `sustained`",
    "burst_bytes": "bytes that were moved before that beyond `sustained_bandwidth`",
    "kept": "blocks that a power cut left as they were last written",
    "rolled_back": "blocks that it took back to an older content, as it may",
    "lost_flushed": "blocks that it took back although they were flushed",
    "lost_fua": "blocks that it took back although they were written with FUA",
    "older_than_durable": "blocks that had survived an earlier cut, and not this one",
    "torn": "blocks of which a part is of one write, a part of another",
    "misdirected": "blocks that were written for another offset",
    "foreign": "blocks with a generation that was never written",
    "reordered": (
        "blocks of `lost_flushed` and `lost_fua`, where a write survived that was "
        "issued after they were durable"
    ),
    "overtaken": "those of a log, where a write survived that `follows` it",
    "torn_writes": "writes of which a power cut left a part, in whole blocks",
}
PERCENTILE_MEANING = "latency that this percentage of the I/Os does not exceed"


class ChartKind(Struct, frozen=True):
    """A kind of chart as a plan names it; checker, editor and report find it here.

    `renderer` names what makes its rows, for `report.charts.charts.renderer`,
    and `marks` how these are drawn, of `report.documents.PICTURE_KINDS`.
    """

    name: str
    meaning: str
    renderer: str
    marks: str
    over: tuple[str, ...] = ("qd",)
    """The axes of its example."""
    needs_axes: bool = False
    """Whether it is drawn over as many axes as its example, no fewer and no more."""
    has_latencies: bool = False
    """Whether it draws all latencies of a run, too: `read.latency over time`."""

    @property
    def example(self) -> str:
        """A line of a plan."""
        return f"chart {self.name} iops by {', '.join(self.over)}"


CHARTS = {
    kind.name: kind
    for kind in (
        ChartKind(
            "lines",
            "a line over the first axis for each value of the other axes",
            renderer="axis",
            marks="lines",
        ),
        ChartKind("bars", "a bar for each cell", renderer="axis", marks="bars"),
        ChartKind(
            "heatmap",
            "a colour for each cell of two axes; `over time`, for each cell and drive, "
            "and of `latency` for how many I/Os took how long when",
            renderer="cells",
            marks="heatmap",
            over=("size", "read"),
            needs_axes=True,
            has_latencies=True,
        ),
        ChartKind(
            "scatter",
            "a point for each interval: `over time`",
            renderer="intervals",
            marks="scatter",
        ),
        ChartKind(
            "percentiles",
            "latency by percentile",
            renderer="percentiles",
            marks="percentiles",
        ),
        ChartKind(
            "histogram",
            "the number of I/Os by latency",
            renderer="histogram",
            marks="histogram",
        ),
        ChartKind("table", "a table of the values", renderer="cells", marks="table"),
        ChartKind(
            "cumulative",
            "the cumulative share of I/Os by latency",
            renderer="cumulative",
            marks="cumulative",
        ),
        ChartKind(
            "bands",
            "percentiles over time, as bands",
            renderer="bands",
            marks="bands",
        ),
    )
}
