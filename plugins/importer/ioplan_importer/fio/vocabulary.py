"""fio's options by their names, and its engines.

Each option stands in one of three tables: SAID, which is translated or told by its
value; LOST, in `lost`, which is reported with what to do; NO_MATTER, in `no_matter`,
with the reason why it cannot matter to the target. A test goes through fio's own list.
"""

from __future__ import annotations

from ioplan_importer.fio.lost import LOST

# fio's options that cannot matter to the target, each with the reason.

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


ALIASES = {
    **{"readwrite": "rw", "blocksize": "bs", "blocksize_range": "bsrange"},
    **{"ba": "blockalign", "fileoffset": "offset", "io_limit": "io_size"},
    **{
        "timeout": "runtime",
        "wait_for_previous": "stonewall",
        "fill_fs": "fill_device",
    },
    **{"nr_files": "nrfiles", "iomem": "mem", "ss": "steadystate"},
    **{"iodepth_batch_submit": "iodepth_batch", "allrandrepeat": "randrepeat"},
    **{"blocksize_unaligned": "bs_unaligned", "ss_dur": "steadystate_duration"},
    **{"iodepth_batch_complete": "iodepth_batch_complete_min", "ratemin": "rate_min"},
    **{"ss_ramp": "steadystate_ramp_time", "ss_interval": "steadystate_check_interval"},
    **{
        "chunck_size": "chunk_size",
        "ratecycle": "rate_cycle",
        "data_placement": "dataplacement",
    },
    **{"fdp_pli_select": "plid_select", "fdp_pli": "plids", "proto": "protocol"},
    **{"log_max_value": "log_window_value", "log_unix_epoch": "log_alternate_epoch"},
}

SAID = frozenset(
    (
        *("rw", "rwmixread", "rwmixwrite", "bs", "bsrange", "bssplit", "iodepth"),
        *("numjobs", "size", "filesize", "offset", "offset_increment"),
        *("io_size", "number_ios", "loops", "runtime", "time_based", "ramp_time"),
        *("startdelay", "stonewall", "wait_for", "thinktime", "thinktime_blocks"),
        *("thinktime_blocks_type", "rate", "rate_iops", "rate_process", "norandommap"),
        *("random_distribution", "random_generator", "percentage_random", "blockalign"),
        *("fsync", "fdatasync", "sync", "zero_buffers", "buffer_compress_percentage"),
        *("dedupe_percentage", "direct", "buffered", "ioengine", "kb_base", "filename"),
        *("directory", "nrfiles", "name", "description", "exitall", "buffer_pattern"),
        *("read_iolog", "replay_no_stall", "replay_time_scale", "replay_skip"),
    )
)
"""What becomes a clause, a length or the order of tests."""

BLOCK_ENGINES = frozenset(
    (
        *("libaio", "io_uring", "io_uring_cmd", "psync", "sync", "vsync", "pvsync"),
        *("pvsync2", "posixaio", "mmap", "null", "sg", "solarisaio", "windowsaio"),
        *("xnvme", "spdk", "spdk_bdev", "libblkio", "nbd", "rbd", "libiscsi", "mtd"),
        *("nvme", "splice", "libcufile", "libhipfile"),
    )
)
"""Engines that read and write blocks of one target; others do something else."""
TOLD_ENGINES = {
    "null": (
        "does no I/O; here the target does it",
        "leave the job out if it measures the host alone",
    ),
    **dict.fromkeys(
        ("mmap", "splice"),
        (
            "goes through the page cache; a plan always does direct I/O",
            "keep such a job with fio",
        ),
    ),
    "io_uring_cmd": (
        "hands NVMe commands to the drive past the block layer",
        "run the plan with --backend io_uring --option passthrough=true",
    ),
    "sg": (
        "hands SCSI commands to the drive past the block layer",
        "here the block layer is on the way",
    ),
    **dict.fromkeys(
        ("spdk", "spdk_bdev", "xnvme", "libblkio"),
        (
            "has a driver of its own, in place of the kernel's",
            "run the plan with --backend spdk for a driver in user space",
        ),
    ),
    "mtd": ("writes to raw flash memory", "keep such a job with fio"),
}
"""Block engines with another way to the target: what they do, and what to do."""
ONE_AT_A_TIME = frozenset(("psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"))
NETWORK_TARGETS = frozenset(("nbd", "rbd", "libiscsi", "libcufile", "libhipfile"))
"""Block engines whose targets are no block devices of this host."""


def canonical(name: str) -> str:
    """The one name of an option that has several."""
    return ALIASES.get(name, name)


KNOWN = SAID | frozenset(LOST) | frozenset(NO_MATTER)
