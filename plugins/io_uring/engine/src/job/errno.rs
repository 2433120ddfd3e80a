//! Names of the errnos that I/O meets.

use std::io;

const NAMES: &[(i32, &str)] = &[
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

/// What is said when a transfer was short and there is no errno.
pub const SHORT: &str = "short transfer";

pub fn name(errno: i32) -> String {
    if errno == 0 {
        return SHORT.to_owned();
    }
    NAMES
        .iter()
        .find(|(number, _)| *number == errno)
        .map_or_else(|| format!("errno {errno}"), |(_, name)| (*name).to_owned())
}

/// "EIO (Input/output error)".
pub fn describe(errno: i32) -> String {
    if errno == 0 {
        return format!("{SHORT}, fewer bytes than asked for");
    }
    let text = io::Error::from_raw_os_error(errno).to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    format!("{} ({text})", name(errno))
}

pub fn last() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn errnos_have_their_names() {
        assert_eq!(super::name(libc::EIO), "EIO");
        assert_eq!(super::describe(libc::EIO), "EIO (Input/output error)");
        assert_eq!(super::name(9999), "errno 9999");
        assert!(super::describe(0).starts_with("short"));
    }
}
