"""fio's options that cannot matter to the target, each with the reason."""

from __future__ import annotations

_PRINTS = "how fio counts and prints: ioplan keeps histograms and series of each run"
_DRAWN = "which random numbers are drawn, of the same kind"
_BUFFERS = "where in the host's memory the data lies"
_FILES = "how fio makes and removes its files: a plan's target is there before the run"
_HANDED = "how I/Os are handed to the kernel: the same ones reach the target"
_CACHE = "it is of the page cache, which is reported itself"
_VERIFIES = "it is of verify, which is reported itself"
_IGNORED = "fio itself ignores it"

NO_MATTER = {
    **dict.fromkeys(
        (
            *("group_reporting", "new_group", "percentile_list", "clat_percentiles"),
            *("lat_percentiles", "slat_percentiles", "significant_figures", "stats"),
            *("write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log"),
            *("log_avg_msec", "log_hist_msec", "log_hist_coarseness", "log_entries"),
            *("log_offset", "log_prio", "log_compression", "log_compression_cpus"),
            *("log_store_compressed", "log_alternate_epoch", "log_window_value"),
            *("log_alternate_epoch_clock_id", "log_issue_time", "job_start_clock_id"),
            *("per_job_logs", "bwavgtime", "iopsavgtime", "disk_util", "unit_base"),
            *("unified_rw_reporting", "disable_lat", "disable_clat", "disable_slat"),
            *("disable_bw_measurement", "disable_bw", "gtod_reduce", "gtod_cpu"),
            *("clocksource", "block_error_percentiles", "error_dump", "write_iolog"),
            *("http_verbose", "comm"),
        ),
        _PRINTS,
    ),
    **dict.fromkeys(("randrepeat", "randseed"), _DRAWN),
    **dict.fromkeys(("mem", "hugepage-size", "iomem_align", "lockmem"), _BUFFERS),
    **dict.fromkeys(
        (
            *("create_serialize", "create_fsync", "create_on_open", "fallocate"),
            *("overwrite", "unlink", "unlink_each_loop", "allow_file_create"),
            *("unique_filename", "filetype"),
        ),
        _FILES,
    ),
    **dict.fromkeys(("registerfiles", "fixedbufs", "nonvectored"), _HANDED),
    **dict.fromkeys(("userspace_reap", "libaio_vectored"), _HANDED),
    **dict.fromkeys(("invalidate", "fadvise_hint"), _CACHE),
    **dict.fromkeys(("verify_dump", "experimental_verify"), _VERIFIES),
    **dict.fromkeys(
        (
            *("percentage_sequential", "rwmixcycle", "flow_watermark", "verifysort"),
            "verifysort_nr",
        ),
        _IGNORED,
    ),
    "allow_mounted_write": "ioplan's own guard decides what may be written to",
    "cmd_type": "it is of ioengine=io_uring_cmd, which is reported itself",
    "exit_what": "it is of exitall, which is reported where it matters",
    "refill_buffers": "random data of a plan is new for each write",
    "read_iolog_chunked": "a replay reads its trace in parts",
    "replay_redirect": "what is replayed goes to the plan's target",
    "softrandommap": "it is for a map of blocks that does not fit into memory",
    "sqthread_poll_cpu": "it is of sqthread_poll, which is reported itself",
    "thread": "threads and processes do the same I/O",
}
"""fio's options, with why they change nothing about what the target is asked."""
