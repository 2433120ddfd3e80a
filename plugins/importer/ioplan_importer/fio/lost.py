"""fio's options that a plan cannot say: each is reported, with what to do."""

from __future__ import annotations

_PARTS = "write a stream for each part of the target, with its region"
_ZONED = "zoned devices have rules of their own, which a plan cannot say"
_MODES = f"of strided I/O: {_PARTS}; of zoned devices: they have rules of their own"
_VERIFY = "fio verifies in a phase of its own; a plan's `verify` is a clause of a run"
_WHERE = "a plan names no CPUs, classes or groups: set them around `ioplan run`"
_FILES = "a plan is about one target with direct I/O, not about files"
_STEADY = "write: run …, until steady iops every 1s, at most 4 passes"
_TARGETED = "write: seek highest qd in 1..128 where p99 <= 1ms"
_REPLAY = (
    "ioplan trace convert LOG -o web.iotrace makes a trace of it, and a plan with "
    'trace web = "web.iotrace" and run replay web replays it'
)
_POLLED = "run the plan with --backend io_uring --option polled=true"
_ERRORS = "write: expect errors == 0"
_ENGINE = "its engine's way to the target: --target and the backend's options say it"
_BATCH = "the I/Os of a plan are issued as soon as there is room, not in batches"
_LATER = "the I/Os of a plan go to the kernel when they are due, whatever is on its way"
_OTHER = "of an engine that does no I/O on blocks of one target"

LOST = {
    **dict.fromkeys(("zonemode", "zonesize", "zoneskip", "zonerange"), _MODES),
    **dict.fromkeys(
        (
            *("zonecapacity", "max_open_zones", "job_max_open_zones", "read_beyond_wp"),
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
            *("verify_async_cpus", "trim_verify_zero", "verify_policy"),
            *("verify_write_sequence", "verify_header_seed"),
            "verify_pattern_interval",
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
            *("cpuchunks", "cpumode", "exit_on_io_done", "thp"),
            *("hipri_percentage", "stat_type", "skip_bad", "cuda_io", "gpu_dev_ids"),
        ),
        _ENGINE,
    ),
    **dict.fromkeys(
        (
            *("readfua", "writefua", "write_mode", "sg_write_mode", "stream_id"),
            *("verify_mode", "deac"),
            *("md_per_io_size", "pi_act", "pi_chk", "apptag", "apptag_mask"),
            *("atomic", "num_range", "fdp", "plids", "plid_select", "dp_scheme"),
            "dataplacement",
        ),
        "plans read, write and discard, with no other commands and no flags of them",
    ),
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
            *("replay_scale", "replay_align", "merge_blktrace_file"),
            *("merge_blktrace_iters", "merge_blktrace_scalars"),
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
        ("flow", "flow_id", "flow_sleep"),
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
            "profile",
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
    **dict.fromkeys(("hipri", "hipri_percentage"), _POLLED),
    "sqthread_poll": "a thread of the kernel takes the I/Os; a backend hands them over",
    "force_async": "threads of the kernel do the I/O, as many as it starts",
    "io_submit_mode": "other threads hand the I/Os to the kernel; a plan has none",
    "serialize_overlap": _LATER,
    "nowait": "an I/O that would wait fails, and the job with it",
    "create_only": "fio makes its files then, and does no I/O: leave the job out",
    "fill_device": "the end of the device ends it: write run …, 1 pass",
    "opendir": "a plan has one target: name the files as a group in the lab file",
    "exitall_on_error": "write: on failure stop",
    "mem_align": "buffers of a plan are aligned for direct I/O",
    "scramble_buffers": "the same data is written again and again: write dedup 99%",
    **dict.fromkeys(
        ("sprandom", "spr_num_regions", "spr_op", "spr_cs"),
        "write a precondition: purge, then write random 4KiB until steady",
    ),
    **dict.fromkeys(
        (
            *("cont", "object_class", "svcl", "donorname", "inplace", "program"),
            *("arguments", "grace_time", "std_redirect", "https", "http_host"),
            *("http_user", "http_pass", "http_s3_key", "http_s3_keyid", "http_mode"),
            *("http_s3_security_token", "http_swift_auth_token", "http_s3_region"),
            *("http_s3_sse_customer_key", "http_s3_sse_customer_algorithm"),
            *("http_s3_storage_class", "http_object_mode", "single_instance"),
            *("hdfs_use_direct", "serverip", "direct_write_to_pmem", "conf", "verb"),
            *("busy_wait_polling", "touch_objects", "bindname", "volume", "brick"),
            *("single-instance", "gpu_dev_id", "rocm_io"),
        ),
        _OTHER,
    ),
    **dict.fromkeys(
        (
            *("initiator", "rbd_encryption_format", "rbd_encryption_passphrase"),
            *("no_completion_thread", "xnvme_be", "xnvme_mem", "xnvme_async"),
            *("xnvme_sync", "xnvme_admin", "xnvme_dev_nsid", "xnvme_dev_subnqn"),
            *("xnvme_iovec", "libblkio_force_enable_completion_eventfd"),
        ),
        _ENGINE,
    ),
}
"""What a plan cannot say, each with the reason or what to write by hand."""

ZERO = frozenset(
    (
        *("zonesize", "zoneskip", "zonerange", "zonecapacity", "max_open_zones"),
        *("job_max_open_zones", "read_beyond_wp", "ignore_zone_limits", "verify"),
        *("verify_async", "verify_fatal", "verify_interval", "verify_offset"),
        *("verify_backlog", "atomic", "bs_is_seq_rand", "busy_poll", "deac", "fdp"),
        *("cgroup_nodelete", "nice", "openfiles", "file_append", "pre_read"),
        *("fsync_on_close", "end_fsync", "end_syncfs", "write_barrier", "readfua"),
        *("writefua", "stream_id", "md_per_io_size", "steadystate_duration"),
        *("steadystate_ramp_time", "latency_target", "latency_window", "latency_run"),
        *("max_latency", "iodepth_low"),
        *("flow", "flow_id", "flow_sleep", "rate_min", "rate_iops_min", "ramp_size"),
        *("rate_ignore_thinktime", "thinktime_spin", "thinktime_iotime"),
        *("thinkcycles", "offset_align", "dedupe_global", "trim_percentage"),
        *("trim_backlog", "force_async", "serialize_overlap"),
        *("create_only", "fill_device", "mem_align", "uncached"),
        *("sprandom", "exit_on_io_done", "skip_bad"),
    )
)
USUAL = {
    **dict.fromkeys(ZERO, ("0",)),
    "verify": ("0", "none"),
    **dict.fromkeys(("zonemode", "continue_on_error", "lockfile"), ("none",)),
    **dict.fromkeys(("iodepth_batch", "iodepth_batch_complete_min"), ("1",)),
    **dict.fromkeys(("do_verify", "scramble_buffers"), ("1",)),
    "file_service_type": ("roundrobin",),
    "rw_sequencer": ("sequential",),
    "io_submit_mode": ("inline",),
    "dedupe_mode": ("repeat",),
    "dataplacement": ("none",),
    "rate_cycle": ("1000",),
    "buffer_compress_chunk": ("512",),
}
"""Values with which fio does what it does without the option."""
