//! Why a run cannot start or go on: a short cause and a message for a person.

use std::fmt;
use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    BadJob,
    Open,
    Permission,
    MissingTarget,
    IoUringForbidden,
    NoDirectIo,
    TooSmall,
    Unaligned,
    DeviceError,
    ReadOnly,
    Memory,
    Internal,
}

impl Cause {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadJob => "bad-job",
            Self::Open => "open",
            Self::Permission => "permission",
            Self::MissingTarget => "missing-target",
            Self::IoUringForbidden => "io-uring-forbidden",
            Self::NoDirectIo => "no-direct-io",
            Self::TooSmall => "too-small",
            Self::Unaligned => "unaligned",
            Self::DeviceError => "device-error",
            Self::ReadOnly => "read-only",
            Self::Memory => "memory",
            Self::Internal => "internal",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Failure {
    pub cause: Cause,
    pub message: String,
}

impl Failure {
    pub fn new(cause: Cause, message: impl Into<String>) -> Self {
        Self {
            cause,
            message: message.into(),
        }
    }

    pub fn bad_job(message: impl Into<String>) -> Self {
        Self::new(Cause::BadJob, message)
    }

    /// A system call that should not fail did.
    pub fn internal(what: &str, error: &io::Error) -> Self {
        Self::new(Cause::Internal, format!("{what}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.cause.as_str(), self.message)
    }
}
