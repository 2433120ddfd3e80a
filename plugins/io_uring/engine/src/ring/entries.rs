//! Submission queue entries (SQEs): the parts that never change are prepared once.

use std::sync::Arc;

use crate::job::Stream;
use crate::pattern::op::Op;
use crate::ring::uring_abi::*;
use crate::target::buffers::Buffers;
use crate::target::passthrough::NVME_URING_CMD_IO;
use crate::target::{PUNCH, Target, TargetKind};

/// What could be registered with the ring.
#[derive(Debug, Clone, Copy)]
pub struct Fixed {
    pub file: bool,
    pub buffers: bool,
}

pub struct Entries {
    /// One for each buffer: those of reads, then those of writes.
    transfers: Box<[Sqe]>,
    write_buffers_at: usize,
    fixed_buffers: bool,
    bare: Sqe,
    /// By the places of the targets: what an entry names the file by.
    files: Box<[i32]>,
    /// By the places of the targets: a discard without its extent.
    discards: Box<[Sqe]>,
}

impl Entries {
    /// `write_buffers_at`: writes have buffers of their own from there on, which
    /// reads do not overwrite; 0 when there are only writes.
    pub fn new(
        targets: &[Arc<Target>],
        buffers: &Buffers,
        stream: &Stream,
        write_buffers_at: usize,
        fixed: Fixed,
    ) -> Self {
        let file = |(at, target): (usize, &Arc<Target>)| {
            if fixed.file {
                at as i32
            } else {
                target.io_fd()
            }
        };
        let files: Box<[_]> = targets.iter().enumerate().map(file).collect();
        let bare = Sqe {
            flags: if fixed.file { SQE_FIXED_FILE } else { 0 },
            fd: files[0],
            ..Sqe::default()
        };
        let transfer = |buffer: usize| {
            let reads = stream.reads() && (write_buffers_at == 0 || buffer < write_buffers_at);
            Sqe {
                opcode: opcode(reads, fixed.buffers),
                addr: buffers.address(buffer) as u64,
                buf_index: if fixed.buffers { buffer as u16 } else { 0 },
                op_flags: if stream.fua && !reads { WRITE_DSYNC } else { 0 },
                ..bare
            }
        };
        let discards = files.iter().zip(targets).map(|(&fd, target)| Sqe {
            fd,
            ..discard(target, stream.trims() && !target.nowait(), bare)
        });
        Self {
            discards: discards.collect(),
            transfers: (0..buffers.count()).map(transfer).collect(),
            write_buffers_at,
            fixed_buffers: fixed.buffers,
            bare,
            files,
        }
    }

    #[inline(always)]
    pub fn buffer_of(&self, slot: usize, write: bool) -> usize {
        if write {
            self.write_buffers_at + slot
        } else {
            slot
        }
    }

    /// A read or a write on the first target, without its offset, length and slot.
    #[inline(always)]
    pub fn transfer(&self, buffer: usize) -> &Sqe {
        &self.transfers[buffer]
    }

    /// The same of an I/O on another target, or of a write that is durable when it is
    /// acknowledged though its stream's are not.
    #[inline(never)]
    pub fn special(&self, buffer: usize, op: &Op) -> Sqe {
        let usual = self.transfers[buffer];
        Sqe {
            fd: self.files[op.target as usize],
            op_flags: if op.fua { WRITE_DSYNC } else { usual.op_flags },
            ..usual
        }
    }

    /// The entry for a command of `passthrough`, without the command itself.
    #[inline(always)]
    pub fn command(&self, buffer: usize) -> Sqe {
        let op_flags = if self.fixed_buffers {
            URING_CMD_FIXED
        } else {
            0
        };
        Sqe {
            opcode: OP_URING_CMD,
            off: u64::from(NVME_URING_CMD_IO),
            op_flags,
            buf_index: self.transfers[buffer].buf_index,
            ..self.bare
        }
    }

    pub fn flush(&self) -> Sqe {
        Sqe {
            opcode: OP_FSYNC,
            op_flags: FSYNC_DATASYNC,
            ..self.bare
        }
    }

    pub fn discard(&self, op: &Op) -> Sqe {
        let entry = self.discards[op.target as usize];
        if entry.opcode == OP_URING_CMD {
            Sqe {
                addr: op.offset_bytes,
                addr3: op.size_bytes,
                ..entry
            }
        } else {
            Sqe {
                off: op.offset_bytes,
                addr: op.size_bytes,
                ..entry
            }
        }
    }
}

/// The kernel tries a block device's discard without waiting. Where the driver has no NOWAIT
/// (zram), that ends with EOPNOTSUPP and is not tried again: there a kernel thread does it.
fn discard(target: &Target, by_thread: bool, bare: Sqe) -> Sqe {
    match target.kind {
        TargetKind::Block => Sqe {
            opcode: OP_URING_CMD,
            off: BLOCK_URING_CMD_DISCARD,
            flags: bare.flags | if by_thread { SQE_ASYNC } else { 0 },
            ..bare
        },
        _ => Sqe {
            opcode: OP_FALLOCATE,
            len: PUNCH as u32,
            ..bare
        },
    }
}

fn opcode(reads: bool, fixed: bool) -> u8 {
    match (reads, fixed) {
        (true, true) => OP_READ_FIXED,
        (true, false) => OP_READ,
        (false, true) => OP_WRITE_FIXED,
        (false, false) => OP_WRITE,
    }
}
