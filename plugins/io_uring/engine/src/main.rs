//! `ioplan-engine`: one run in as JSON, its measurements out as JSON lines.

mod job;
mod measure;
mod pattern;
mod probe;
mod ring;
mod run;
mod sync;
mod target;
mod threads;

use std::io::Read;

use job::event::{self, Event};
use job::failure::{self, Failure};
use job::record;
use run::Outcome;
use threads::{lifeline, signals};

const USAGE: &str = "\
ioplan-engine: does the I/O of one run

  ioplan-engine run [FILE|-]   read a job as JSON, print its events as JSON lines
  ioplan-engine run --lifeline the job is the first line of stdin, whose end ends the run
  ioplan-engine probe PATH     what can be done here and on this target, as JSON
  ioplan-engine --version
";

const EXIT_FAILED: i32 = 1;
const EXIT_USAGE: i32 = 2;

fn main() {
    report_panics();
    let arguments: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let code = match words.as_slice() {
        ["run"] => run_job("-"),
        ["run", "--lifeline"] => run_on_lifeline(),
        ["run", file] => run_job(file),
        ["probe", path] => probe_target(path),
        ["--version" | "-V"] => print(&format!("ioplan-engine {}\n", record::VERSION), 0),
        ["--help" | "-h"] => print(USAGE, 0),
        _ => {
            eprint!("{USAGE}");
            EXIT_USAGE
        }
    };
    // Not a return: that would wait for threads that are stuck in the kernel.
    std::process::exit(code);
}

fn run_job(file: &str) -> i32 {
    if !signals::die_with_parent() {
        return EXIT_FAILED;
    }
    code_of(read_job(file).and_then(|text| run::run(&text, None)))
}

fn run_on_lifeline() -> i32 {
    code_of(lifeline::job().and_then(|(text, starts)| run::run(&text, Some(starts))))
}

fn code_of(outcome: Result<Outcome, Failure>) -> i32 {
    match outcome {
        Ok(Outcome::Complete) => 0,
        Ok(Outcome::Failed | Outcome::NoReader) => EXIT_FAILED,
        Err(failure) => fail(&failure),
    }
}

fn read_job(file: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let read = match file {
        "-" => std::io::stdin().read_to_string(&mut text).map(drop),
        _ => std::fs::read_to_string(file).map(|content| text = content),
    };
    read.map_err(|error| Failure::bad_job(format!("the job cannot be read from {file}: {error}")))?;
    Ok(text)
}

fn probe_target(path: &str) -> i32 {
    match probe::probe(path) {
        Ok(facts) => print(&format!("{}\n", serde_json::Value::from(facts)), 0),
        Err(failure) => fail(&failure),
    }
}

fn print(text: &str, code: i32) -> i32 {
    use std::io::Write;
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => code,
        Err(_) => EXIT_FAILED,
    }
}

fn fail(failure: &Failure) -> i32 {
    // If nobody reads it, the exit code still reports the failure.
    let _ = event::emit(&Event::from(failure));
    EXIT_FAILED
}

/// A bug is reported as an event too, and ends the process at once: the other threads
/// must not continue to do I/O.
fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let message = format!("a bug in the engine, please report it: {panic}");
        let failure = Failure::new(failure::Cause::Internal, message.replace('\n', " "));
        let line = serde_json::to_string(&Event::from(&failure)).unwrap_or_default() + "\n";
        // SAFETY: `line` is valid for its length. Written past Rust's own buffer and
        // lock, which the panicking thread may hold.
        unsafe {
            libc::write(1, line.as_ptr().cast(), line.len());
            libc::_exit(EXIT_FAILED);
        }
    }));
}
