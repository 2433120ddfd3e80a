"""What each metric and each chart is, in a line."""

from __future__ import annotations

METRIC_MEANINGS = {
    "iops": "I/Os completed per second",
    "bandwidth": "bytes moved per second",
    "mean": "mean latency; with a rate, from the intended start of each I/O on",
    "min": "the shortest latency",
    "max": "the longest latency",
    "stddev": "standard deviation of the latencies",
    "errors": "I/Os that failed",
    "verified": "share of what was read whose content was checked",
    "cpu": "CPU time of the program that does the I/O, in percent of one CPU",
    "iops_per_cpu": "I/Os per second for each percent of `cpu`",
    "system_cpu": "CPU time of the whole machine, in percent of one CPU",
    "iops_per_system_cpu": "I/Os per second for each percent of `system_cpu`",
    "stack_cpu": "CPU time of the I/O stack below that program, in percent of one CPU",
    "iops_per_stack_cpu": "I/Os per second for each percent of `stack_cpu`",
    "watts": "mean power",
    "iops_per_watt": "I/Os per second for each watt",
    "bandwidth_per_watt": "bytes per second for each watt",
    "temperature": "highest temperature of the drive",
    "waf": "write amplification: bytes written to the flash for each of the host's",
    "media_written": "bytes that the drive wrote to its flash, by its log",
    "dwpd": "drive writes per day at the rate of the run",
}
PERCENTILE_MEANING = "latency that so many percent of the I/Os do not exceed"

CHART_MEANINGS = {
    "lines": "a line over the first axis for each value of the others",
    "bars": "a bar for each cell",
    "heatmap": "a colour for each cell of two axes",
    "scatter": "a point for each interval: `over time`",
    "percentiles": "latency over percentiles, on an axis of nines",
    "histogram": "how many I/Os had which latency",
    "table": "the figures as a table",
    "cumulative": "the share of I/Os up to each latency",
    "bands": "percentiles of each interval over time, as bands",
}
