//! Runs the engine on a scratch file and reads its events.
#![allow(dead_code)] // each test binary uses its part

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

pub const MIB: u64 = 1 << 20;
pub const MODES: [&str; 2] = ["io_uring", "sync"];

/// A file of zeros, on the disk that the build is on (and not on a tmpfs).
pub struct Scratch {
    folder: tempfile::TempDir,
    pub bytes: u64,
}

impl Scratch {
    pub fn new(bytes: u64) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        std::fs::write(folder.path().join("target"), vec![0; bytes as usize]).expect("a file");
        Self { folder, bytes }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("target")
    }

    pub fn content(&self) -> Vec<u8> {
        std::fs::read(self.path()).expect("the scratch file")
    }

    /// A job with one stream; the fields go to where they belong.
    pub fn job(&self, fields: Value) -> Value {
        job(&self.path(), self.bytes, fields)
    }
}

/// Measures up to three times, as other programs may have the CPU: a defect spoils each.
pub fn calmly(measured: impl Fn()) {
    let succeeds = |_| std::panic::catch_unwind(AssertUnwindSafe(&measured)).is_ok();
    if !(0..2).any(succeeds) {
        measured();
    }
}

pub fn stream(bytes: u64, fields: &Value) -> Value {
    let mut stream = json!({
        "name": "main", "pattern": "random", "read_percent": 100.0, "trim_percent": 0.0,
        "read_sizes": [{"size_bytes": 4096, "percent": 100.0}],
        "write_sizes": [{"size_bytes": 4096, "percent": 100.0}],
        "align_bytes": null, "qd": 1, "threads": 1, "rate": null,
        "pause_ns": 0, "pause_every": 1, "starts_ns": 0, "ends_ns": null,
        "region": {"start_percent": 0.0, "end_percent": 100.0},
        "distribution": {"kind": "uniform"}, "data": {"kind": "random", "percent": 0.0},
        "sync_every": null, "verify": false, "permuted": false,
        "region_start_bytes": 0, "region_end_bytes": bytes,
    });
    merge(&mut stream, fields, true);
    stream
}

pub fn job(path: &Path, bytes: u64, fields: Value) -> Value {
    let mut job = json!({
        "target": path, "capacity_bytes": bytes, "block_bytes": 512,
        "streams": [stream(bytes, &fields)], "warmup_ns": 0, "run_ns": null,
        "limit_bytes": null, "passes": null, "interval_ns": 1_000_000_000, "seed": 1,
        "read_only": false, "mode": "auto", "await_start": false, "keep": null,
    });
    merge(&mut job, &fields, true);
    job
}

/// Only fields that are there already.
fn merge(into: &mut Value, fields: &Value, known_only: bool) {
    for (key, value) in fields.as_object().expect("an object") {
        if !known_only || into.get(key).is_some() {
            into[key] = value.clone();
        }
    }
}

pub fn size(bytes: u64) -> Value {
    json!([{"size_bytes": bytes, "percent": 100.0}])
}

#[derive(Debug)]
pub struct Events {
    pub lines: Vec<Value>,
    pub code: Option<i32>,
    pub stderr: String,
}

impl Events {
    fn parse(output: &std::process::Output) -> Self {
        let text = String::from_utf8_lossy(&output.stdout);
        let parse = |line| serde_json::from_str(line).expect("each line is JSON");
        Self {
            lines: text.lines().map(parse).collect(),
            code: output.status.code(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn of(&self, event: &str) -> Vec<&Value> {
        self.lines
            .iter()
            .filter(|line| line["event"] == event)
            .collect()
    }

    pub fn started(&self) -> &Value {
        self.of("started")
            .first()
            .copied()
            .expect("a started event")
    }

    pub fn result(&self) -> &Value {
        self.of("result")
            .first()
            .copied()
            .unwrap_or_else(|| panic!("no result: {self:?}"))
    }

    pub fn cause(&self) -> Option<&str> {
        self.of("failure")
            .first()
            .and_then(|line| line["cause"].as_str())
    }

    /// Counts of the first stream.
    pub fn counts(&self, direction: &str) -> &Value {
        &self.result()["streams"][0]["directions"][direction]
    }

    pub fn ios(&self, direction: &str) -> u64 {
        self.counts(direction)["ios"].as_u64().unwrap_or(0)
    }

    /// IOPS times mean latency of the first stream, all directions.
    pub fn mean_depth(&self) -> f64 {
        let result = self.result();
        let directions = result["streams"][0]["directions"]
            .as_object()
            .expect("directions");
        let sum_ns: f64 = directions
            .values()
            .filter_map(|counts| counts["sum_ns"].as_f64())
            .sum();
        sum_ns / result["run_ns"].as_f64().expect("run_ns")
    }

    /// The I/Os that may be missing or too many of so many, since the threads waited for a
    /// CPU so long, by the engine's own record.
    pub fn excused(&self, ios: u64) -> u64 {
        let facts = &self.result()["facts"]["conditions"];
        let threads = facts["threads"].as_object().expect("a fact of each stream");
        let waited = threads
            .values()
            .filter_map(|one| one["waited_percent"].as_f64());
        let lost = waited.fold(0.0, f64::max) + facts["steal_percent"].as_f64().unwrap_or(0.0);
        (ios as f64 * lost / 100.0) as u64
    }

    pub fn successful(self) -> Self {
        assert_eq!((self.code, self.cause()), (Some(0), None), "{self:?}");
        self
    }
}

pub fn engine() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ioplan-engine"))
}

pub fn start(job: &Value) -> Child {
    start_with(&mut engine(), job)
}

pub fn start_with(command: &mut Command, job: &Value) -> Child {
    let piped = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = piped.args(["run", "-"]).spawn().expect("the engine starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin
        .write_all(job.to_string().as_bytes())
        .expect("the engine reads its job");
    child
}

pub fn finish(child: Child) -> Events {
    Events::parse(&child.wait_with_output().expect("the engine ends"))
}

pub fn run(job: &Value) -> Events {
    finish(start(job))
}

/// Runs where io_uring_setup fails with that errno, by a seccomp filter.
pub fn run_without_io_uring(job: &Value, errno: i32) -> Events {
    let mut command = engine();
    // SAFETY: only async-signal-safe system calls between fork and exec.
    unsafe { command.pre_exec(move || forbid_io_uring(errno as u32)) };
    finish(start_with(&mut command, job))
}

fn forbid_io_uring(errno: u32) -> std::io::Result<()> {
    let statement = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            libc::SYS_io_uring_setup as u32,
            0,
            1,
        ),
        statement(
            libc::BPF_RET | libc::BPF_K,
            libc::SECCOMP_RET_ERRNO | errno,
            0,
            0,
        ),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: `program` and its filter are valid during the calls.
    let rc = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program)
    };
    if rc == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}
