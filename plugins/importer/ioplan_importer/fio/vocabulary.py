"""fio's options by what becomes of them in a plan.

What is translated stands in `stream` and `length`. The rest is either of no matter to
what is asked of the target, or lost with a reason; an option in no table is none of
fio's, or one that nobody has weighed, and is lost as such.
"""

from __future__ import annotations

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
    **{"log_max_value": "log_window_value", "log_unix_epoch": "log_alternate_epoch"},
}

SAID = frozenset(
    (
        *("rw", "rwmixread", "rwmixwrite", "bs", "bsrange", "bssplit", "iodepth"),
        *("numjobs", "size", "filesize", "offset", "offset_increment", "fill_device"),
        *("io_size", "number_ios", "loops", "runtime", "time_based", "ramp_time"),
        *("startdelay", "stonewall", "wait_for", "thinktime", "thinktime_blocks"),
        *("thinktime_blocks_type", "rate", "rate_iops", "rate_process", "norandommap"),
        *("random_distribution", "random_generator", "percentage_random", "blockalign"),
        *("fsync", "fdatasync", "zero_buffers", "buffer_compress_percentage"),
        *("dedupe_percentage", "direct", "buffered", "ioengine", "kb_base", "filename"),
        *("directory", "nrfiles", "name", "description", "exitall", "buffer_pattern"),
    )
)
"""What becomes a clause, a length or the order of tests."""

REPORTING = frozenset(
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
        *("verify_dump", "experimental_verify", "http_verbose"),
    )
)
"""How fio counts and tells: ioplan keeps histograms and series of each run."""

HOW_FIO_RUNS = frozenset(
    (
        *("thread", "invalidate", "randrepeat", "randseed", "refill_buffers"),
        *("scramble_buffers", "mem", "hugepage-size", "iomem_align", "mem_align"),
        *("create_serialize", "create_fsync", "create_on_open", "create_only"),
        *("fallocate", "fadvise_hint", "overwrite", "unlink", "unlink_each_loop"),
        *("allow_file_create", "allow_mounted_write", "unique_filename", "opendir"),
        *("cmd_type", "registerfiles", "fixedbufs", "nonvectored", "force_async"),
        *("hipri", "sqthread_poll", "sqthread_poll_cpu", "userspace_reap", "nowait"),
        *("io_submit_mode", "serialize_overlap", "exit_what", "exitall_on_error"),
        *("lockmem", "softrandommap", "comm", "filetype", "readwrite_mode"),
    )
)
"""Choices of a backend, or what ioplan does always: a plan has no word for them."""

_ZONED = "zoned devices have rules of their own, which a plan cannot say"
_VERIFY = "fio verifies in a phase of its own; a plan's `verify` is a clause of a run"
_WHERE = "a plan names no CPUs, classes or groups: set them around `ioplan run`"
_FILES = "a plan is about one target with direct I/O, not about files"
_STEADY = "write: run …, until steady iops every 1s, at most 4 passes"
_TARGETED = "write: seek highest qd in 1..128 where p99 <= 1ms"
_REPLAY = "a trace says which I/Os to do; a plan says of which kind"
_ERRORS = "write: expect errors == 0"
_ENGINE = "its engine's way to the target: --target and the backend's options say it"
_BATCH = "the I/Os of a plan are issued as soon as there is room, not in batches"

LOST = {
    **dict.fromkeys(
        (
            *("zonemode", "zonesize", "zoneskip", "zonerange", "zonecapacity"),
            *("max_open_zones", "job_max_open_zones", "read_beyond_wp"),
            *("zone_reset_threshold", "zone_reset_frequency", "ignore_zone_limits"),
            *("write_zone_remainder", "recover_zbd_write_error"),
        ),
        _ZONED,
    ),
    **dict.fromkeys(
        (
            *("verify", "do_verify", "verify_async", "verify_backlog", "verify_fatal"),
            *("verify_pattern", "verify_interval", "verify_offset", "verify_only"),
            *("verify_backlog_batch", "verify_state_load", "verify_state_save"),
            *("verifysort", "verify_async_cpus", "trim_verify_zero", "verify_policy"),
            *("verify_write_sequence", "verify_header_seed", "verifysort_nr"),
        ),
        _VERIFY,
    ),
    **dict.fromkeys(
        (
            *("cpus_allowed", "cpus_allowed_policy", "cpumask", "numa_cpu_nodes"),
            *("numa_mem_policy", "nice", "prio", "prioclass", "priohint", "cgroup"),
            *("cgroup_weight", "cgroup_nodelete", "uid", "gid", "ioscheduler"),
            *("cmdprio_percentage", "cmdprio_class", "cmdprio", "cmdprio_bssplit"),
            *("cmdprio_hint", "exec_prerun", "exec_postrun", "write_hint"),
        ),
        _WHERE,
    ),
    **dict.fromkeys(
        (
            *("openfiles", "file_service_type", "filename_format", "lockfile"),
            *("file_append", "pre_read", "fsync_on_close", "end_fsync", "end_syncfs"),
            *("sync_file_range", "write_barrier", "uncached"),
        ),
        _FILES,
    ),
    **dict.fromkeys(
        (
            *("pool", "rbdname", "clientname", "clustername", "busy_poll", "uri"),
            *("nfs_url", "libblkio_driver", "libblkio_path", "libblkio_num_entries"),
            *("libblkio_pre_connect_props", "libblkio_pre_start_props"),
            *("libblkio_queue_size", "libblkio_vectored", "libblkio_wait_mode"),
            *("libblkio_write_zeroes_on_trim", "hostname", "port", "protocol"),
            *("listen", "interface", "nodelay", "pingpong", "mss", "ttl"),
            *("window_size", "namenode", "hdfsdirectory", "chunk_size", "cpuload"),
            *("cpuchunks", "cpumode", "exit_on_io_done", "thp", "libaio_vectored"),
            *("hipri_percentage", "stat_type", "skip_bad", "cuda_io", "gpu_dev_ids"),
        ),
        _ENGINE,
    ),
    **dict.fromkeys(
        (
            *("readfua", "writefua", "write_mode", "sg_write_mode", "stream_id"),
            *("read_mode", "verify_mode", "verify_bytchk", "deac", "cdb_len"),
            *("md_per_io_size", "pi_act", "pi_chk", "apptag", "apptag_mask"),
            *("atomic", "num_range", "fdp", "plids", "plid_select", "dp_scheme"),
            "dataplacement",
        ),
        "plans read, write and discard, with no other commands and no flags of them",
    ),
    "sync": "write: sync every 1, which is a flush after each write",
    "ramp_size": "a warm-up is a time: run … for 1min, warmup 10s",
    **dict.fromkeys(
        (
            *("steadystate", "steadystate_duration", "steadystate_ramp_time"),
            "steadystate_check_interval",
        ),
        _STEADY,
    ),
    **dict.fromkeys(
        ("latency_target", "latency_window", "latency_percentile", "latency_run"),
        _TARGETED,
    ),
    **dict.fromkeys(
        (
            *("read_iolog", "replay_no_stall", "replay_redirect", "replay_scale"),
            *("replay_align", "replay_skip", "replay_time_scale", "read_iolog_chunked"),
            *("merge_blktrace_file", "merge_blktrace_iters", "merge_blktrace_scalars"),
        ),
        _REPLAY,
    ),
    **dict.fromkeys(("continue_on_error", "ignore_error", "max_latency"), _ERRORS),
    **dict.fromkeys(
        (
            *("iodepth_batch", "iodepth_low", "iodepth_batch_complete_min"),
            "iodepth_batch_complete_max",
        ),
        _BATCH,
    ),
    **dict.fromkeys(
        ("flow", "flow_id", "flow_sleep", "flow_watermark"),
        "streams of a plan do not wait for each other: give each a rate",
    ),
    **dict.fromkeys(
        ("rate_min", "rate_iops_min", "rate_cycle", "rate_ignore_thinktime"),
        "a rate is what is offered; what is reached is for: expect iops >= …",
    ),
    **dict.fromkeys(
        ("thinktime_spin", "thinktime_iotime", "thinkcycles"),
        "a pause is idle time after a number of I/Os",
    ),
    **dict.fromkeys(
        (
            *("rw_sequencer", "bs_unaligned", "bs_is_seq_rand", "offset_align"),
            *("random_sequence_stride", "profile"),
        ),
        "a plan has no word for it",
    ),
    **dict.fromkeys(
        ("dedupe_mode", "dedupe_global", "dedupe_working_set_percentage"),
        "`dedup` repeats earlier writes of its stream",
    ),
    **dict.fromkeys(
        ("buffer_compress_chunk",), "`data compressible` is spread over each block"
    ),
    **dict.fromkeys(
        ("trim_percentage", "trim_backlog", "trim_backlog_batch"),
        "write `trim 10%`: part of the operations are discards",
    ),
}
"""What a plan cannot say, each with the reason or what to write by hand."""

BLOCK_ENGINES = frozenset(
    (
        *("libaio", "io_uring", "io_uring_cmd", "psync", "sync", "vsync", "pvsync"),
        *("pvsync2", "posixaio", "mmap", "null", "sg", "solarisaio", "windowsaio"),
        *("xnvme", "spdk", "spdk_bdev", "libblkio", "nbd", "rbd", "libiscsi", "mtd"),
        *("nvme", "splice", "libcufile", "libhipfile"),
    )
)
"""Engines that read and write blocks of one target; others do something else."""
ONE_AT_A_TIME = frozenset(("psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"))
NETWORK_TARGETS = frozenset(("nbd", "rbd", "libiscsi", "libcufile", "libhipfile"))
"""Block engines whose targets are no block devices of this host."""


def canonical(name: str) -> str:
    """The one name of an option that has several."""
    return ALIASES.get(name, name)


KNOWN = SAID | REPORTING | HOW_FIO_RUNS | frozenset(LOST)
