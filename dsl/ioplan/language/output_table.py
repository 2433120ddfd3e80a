"""What each metric and each chart is, in a line."""

from __future__ import annotations

METRIC_MEANINGS = {
    "iops": "I/Os completed per second",
    "bandwidth": "bytes moved per second",
    "mean": "mean latency; with a rate, from the intended start of each I/O",
    "min": "the shortest latency",
    "max": "the longest latency",
    "stddev": "standard deviation of the latencies",
    "errors": "I/Os that failed",
    "verified": "share of the data read whose content was verified",
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
}
PERCENTILE_MEANING = "latency that this percentage of the I/Os does not exceed"

CHART_MEANINGS = {
    "lines": "a line over the first axis for each value of the other axes",
    "bars": "a bar for each cell",
    "heatmap": "a colour for each cell of two axes",
    "scatter": "a point for each interval: `over time`",
    "percentiles": "latency by percentile",
    "histogram": "the number of I/Os by latency",
    "table": "a table of the values",
    "cumulative": "the cumulative share of I/Os by latency",
    "bands": "percentiles over time, as bands",
}
