//! NVMe commands that bypass the block layer: the generic
//! character device of a namespace (`/dev/ng0n1` beside `/dev/nvme0n1`) and URING_CMD.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

use crate::job::failure::{Cause, Failure};

/// `_IO('N', 0x40)`: the namespace's id.
const NVME_IOCTL_ID: u64 = 0x4e40;
/// `_IOWR('N', 0x80, struct nvme_uring_cmd)`.
pub const NVME_URING_CMD_IO: u32 = 0xc048_4e80;

const FLUSH: u8 = 0;
const WRITE: u8 = 1;
const READ: u8 = 2;
/// Of `cdw12`.
const FORCE_UNIT_ACCESS: u32 = 1 << 30;

/// `struct nvme_uring_cmd` of `linux/nvme_ioctl.h`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    /// For reads and writes: the first block, 64 bits in two words.
    cdw10: u32,
    cdw11: u32,
    /// The number of blocks, less one.
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_ms: u32,
    reserved2: u32,
}

const _: () = assert!(size_of::<Command>() == 72);

/// A namespace's character device, open.
pub struct Namespace {
    file: File,
    id: u32,
    block_bytes: u64,
}

impl Namespace {
    /// The one of a block device.
    pub fn of(path: &str, writable: bool, block_bytes: u64) -> Result<Self, Failure> {
        let generic = generic_path(path).ok_or_else(|| {
            Failure::bad_job(format!(
                "{path} is no whole NVMe namespace (/dev/nvme0n1), which passthrough needs; leave out passthrough"
            ))
        })?;
        let file = File::options().read(true).write(writable).open(&generic);
        let file = file.map_err(|error| {
            Failure::new(
                Cause::Open,
                format!("{generic}, which passthrough goes through, cannot be opened: {error}"),
            )
        })?;
        // SAFETY: takes no memory.
        let id = unsafe { libc::ioctl(file.as_raw_fd(), NVME_IOCTL_ID as _) };
        if id <= 0 {
            let what = format!("{generic} does not tell its namespace; leave out passthrough");
            return Err(Failure::new(Cause::Open, what));
        }
        Ok(Self {
            file,
            id: id as u32,
            block_bytes,
        })
    }

    pub fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    pub fn flush(&self) -> Command {
        self.command(FLUSH)
    }

    /// A read or a write of whole blocks.
    pub fn transfer(
        &self,
        write: bool,
        offset_bytes: u64,
        address: u64,
        length_bytes: u64,
    ) -> Command {
        let first = offset_bytes / self.block_bytes;
        Command {
            address,
            data_bytes: length_bytes as u32,
            cdw10: first as u32,
            cdw11: (first >> 32) as u32,
            cdw12: (length_bytes / self.block_bytes) as u32 - 1,
            ..self.command(if write { WRITE } else { READ })
        }
    }

    /// A write that the drive acknowledges once it is durable.
    pub fn forced(command: Command) -> Command {
        Command {
            cdw12: command.cdw12 | FORCE_UNIT_ACCESS,
            ..command
        }
    }

    fn command(&self, opcode: u8) -> Command {
        Command {
            opcode,
            namespace: self.id,
            ..Command::default()
        }
    }
}

/// The drive's status as a result: bytes, or minus errno.
pub fn outcome(result: i64, size_bytes: u64) -> i64 {
    match result {
        0 => size_bytes as i64,
        status if status > 0 => -i64::from(libc::EIO),
        errno => errno,
    }
}

/// `/dev/ng0n1` for `/dev/nvme0n1` or a link to it; None for a partition and all else.
fn generic_path(path: &str) -> Option<String> {
    let real = std::fs::canonicalize(path).ok()?;
    generic_name(real.file_name()?.to_str()?).map(|name| {
        let folder = real.parent().unwrap_or(Path::new("/dev"));
        folder.join(name).to_string_lossy().into_owned()
    })
}

fn generic_name(name: &str) -> Option<String> {
    let (controller, namespace) = name.strip_prefix("nvme")?.split_once('n')?;
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (number(controller) && number(namespace)).then(|| format!("ng{controller}n{namespace}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_its_generic_device_and_a_partition_has_none() {
        assert_eq!(generic_name("nvme0n1").as_deref(), Some("ng0n1"));
        assert_eq!(generic_name("nvme12n34").as_deref(), Some("ng12n34"));
        for other in ["nvme0n1p1", "sda", "nvme0", "nvme0c0n1", "nvmen1"] {
            assert_eq!(generic_name(other), None, "{other}");
        }
    }

    #[test]
    fn a_command_counts_in_blocks() {
        let file = File::open("/dev/null").expect("/dev/null");
        let (id, block_bytes) = (7, 4096);
        let namespace = Namespace {
            file,
            id,
            block_bytes,
        };
        let offset_bytes = (5 << 32 | 3) * 4096;
        let command = namespace.transfer(true, offset_bytes, 0, 16_384);
        assert_eq!((command.opcode, command.namespace), (WRITE, 7));
        assert_eq!((command.cdw10, command.cdw11, command.cdw12), (3, 5, 3));
        assert_eq!(Namespace::forced(command).cdw12, 1 << 30 | 3);
    }

    #[test]
    fn a_status_of_the_drive_is_an_error() {
        assert_eq!(outcome(0, 4096), 4096);
        assert_eq!(outcome(0x281, 4096), -i64::from(libc::EIO));
        assert_eq!(
            outcome(-i64::from(libc::EINVAL), 4096),
            -i64::from(libc::EINVAL)
        );
    }
}
