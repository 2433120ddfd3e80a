//! Why a run cannot start or go on: a cause for programs, a message for people, and the
//! names of errnos for both.

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
    NoSpace,
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
            Self::NoSpace => "no-space",
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

/// The errnos that I/O can fail with.
const ERRNO_NAMES: &[(i32, &str)] = &[
    (libc::EIO, "EIO"),
    (libc::ENOENT, "ENOENT"),
    (libc::ENOTDIR, "ENOTDIR"),
    (libc::EISDIR, "EISDIR"),
    (libc::ENOSPC, "ENOSPC"),
    (libc::EDQUOT, "EDQUOT"),
    (libc::EINVAL, "EINVAL"),
    (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    (libc::EREMOTEIO, "EREMOTEIO"),
    (libc::ENODATA, "ENODATA"),
    (libc::EBADE, "EBADE"),
    (libc::EILSEQ, "EILSEQ"),
    (libc::ENOLINK, "ENOLINK"),
    (libc::ETIMEDOUT, "ETIMEDOUT"),
    (libc::ENXIO, "ENXIO"),
    (libc::ENODEV, "ENODEV"),
    (libc::EROFS, "EROFS"),
    (libc::EPERM, "EPERM"),
    (libc::EACCES, "EACCES"),
    (libc::EAGAIN, "EAGAIN"),
    (libc::EINTR, "EINTR"),
    (libc::EBUSY, "EBUSY"),
    (libc::ENOMEM, "ENOMEM"),
    (libc::EBADF, "EBADF"),
    (libc::EFBIG, "EFBIG"),
    (libc::EFAULT, "EFAULT"),
    (libc::ECANCELED, "ECANCELED"),
    (libc::ENOTTY, "ENOTTY"),
    (libc::ENOSYS, "ENOSYS"),
];

/// The name of errno 0: a transfer was short, and the kernel gave no errno.
const SHORT: &str = "short transfer";

pub fn errno_name(errno: i32) -> String {
    if errno == 0 {
        return SHORT.to_owned();
    }
    ERRNO_NAMES
        .iter()
        .find(|(number, _)| *number == errno)
        .map_or_else(|| format!("errno {errno}"), |(_, name)| (*name).to_owned())
}

/// For messages, for example "EIO (Input/output error)".
pub fn describe_errno(errno: i32) -> String {
    if errno == 0 {
        return format!("{SHORT}, fewer bytes than asked for");
    }
    let text = io::Error::from_raw_os_error(errno).to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    format!("{} ({text})", errno_name(errno))
}

/// The errno of the system call that has just failed.
pub fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errnos_have_their_names() {
        assert_eq!(errno_name(libc::EIO), "EIO");
        assert_eq!(describe_errno(libc::EIO), "EIO (Input/output error)");
        assert_eq!(errno_name(9999), "errno 9999");
        assert!(describe_errno(0).starts_with("short"));
    }
}
