"""JSON as fio writes it, of jobs of which a test says what it is about."""

NOTHING = {"io_bytes": 0, "total_ios": 0, "runtime": 0}
PERCENTILES = {"50.000000": 90_112, "99.000000": 120_320, "99.990000": 200_704}
BINS = {"80384": 400, "90112": 500, "120320": 90, "200704": 10}


def direction(ios, **latency):
    clat = {"min": 80_000, "max": 201_000, "mean": 90_000.0, "stddev": 10.0, "N": ios}
    return {
        "io_bytes": ios * 4096,
        "total_ios": ios,
        "runtime": 2000,
        "clat_ns": clat | latency,
    }


def job(**changes):
    made = {
        "jobname": "a",
        "groupid": 0,
        "error": 0,
        "job options": {"rw": "randread", "iodepth": "4"},
        "job_runtime": 2000,
        "usr_cpu": 10.0,
        "sys_cpu": 20.0,
        "read": direction(1000, percentile=PERCENTILES, bins=BINS),
        "write": NOTHING,
        "trim": NOTHING,
    }
    return made | changes


def document(*jobs, **changes):
    made = {
        "fio version": "fio-3.36",
        "timestamp": 1_700_000_000,
        "global options": {"direct": "1", "ioengine": "libaio", "runtime": "2"},
        "jobs": list(jobs) or [job()],
    }
    return made | changes


def summary(ios=1000, percentile=PERCENTILES):
    return direction(ios, percentile=percentile)
