//! The version of the protocol of jobs and events, and the length of their lines.

use std::io::{self, BufRead};

use serde::Deserialize;

use crate::job::Job;
use crate::job::failure::Failure;

/// That of `ioplan.job.PROTOCOL`; a job that names none is of this one.
pub const PROTOCOL: u64 = 1;

/// Of a job, without its end of line; `ioplan.process.lines` has the same.
const LONGEST_BYTES: u64 = 16 << 20;

#[derive(Deserialize)]
struct Version {
    protocol: u64,
}

/// The job; another version is refused as such, whatever else it has.
pub fn parse(text: &str) -> Result<Job, Failure> {
    match serde_json::from_str(text) {
        Ok(Version { protocol }) if protocol != PROTOCOL => {
            return Err(Failure::bad_job(format!(
                "the job is of protocol {protocol}, and this engine speaks protocol {PROTOCOL}; \
                 use an ioplan and an engine of one version"
            )));
        }
        _ => {}
    }
    serde_json::from_str(text)
        .map_err(|error| Failure::bad_job(format!("the job is not what the engine knows: {error}")))
}

/// A line with its end. One that is longer, or has no end, is refused.
pub fn read_line(reader: impl BufRead) -> Result<String, Failure> {
    let mut text = String::new();
    let cannot = |error: io::Error| Failure::bad_job(format!("the job cannot be read: {error}"));
    let mut limited = reader.take(LONGEST_BYTES + 1);
    limited.read_line(&mut text).map_err(cannot)?;
    if text.ends_with('\n') {
        return Ok(text);
    }
    Err(Failure::bad_job(if text.len() as u64 > LONGEST_BYTES {
        format!("the job's line is longer than {LONGEST_BYTES} bytes")
    } else {
        "the job's line has no end".to_owned()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse(text).expect_err("must be refused").message
    }

    #[test]
    fn another_version_is_all_that_is_told() {
        let told = refusal(r#"{"protocol": 2, "colour": 1}"#);
        assert!(
            told.contains("protocol 2") && !told.contains("colour"),
            "{told}"
        );
        assert!(refusal(r#"{"protocol": "two"}"#).contains("invalid type"));
    }

    #[test]
    fn a_line_has_an_end_and_a_limit() {
        assert_eq!(
            read_line("{}\nmore".as_bytes()).ok(),
            Some("{}\n".to_owned())
        );
        let open = read_line("{}".as_bytes()).expect_err("must be refused");
        assert!(open.message.contains("no end"));
        let long = read_line(io::BufReader::new(io::repeat(b' '))).expect_err("must be refused");
        assert!(long.message.contains("longer"), "{long}");
    }
}
