//! The kernel's io_uring interface, as `linux/io_uring.h` and `linux/blkdev.h` have it.

#[cfg(test)]
pub const OP_NOP: u8 = 0;
pub const OP_FSYNC: u8 = 3;
pub const OP_READ_FIXED: u8 = 4;
pub const OP_WRITE_FIXED: u8 = 5;
pub const OP_FALLOCATE: u8 = 17;
pub const OP_READ: u8 = 22;
pub const OP_WRITE: u8 = 23;
pub const OP_URING_CMD: u8 = 46;

pub const SQE_FIXED_FILE: u8 = 1 << 0;
/// A kernel thread does it, which may wait.
pub const SQE_ASYNC: u8 = 1 << 4;
/// In `op_flags` of OP_URING_CMD.
pub const URING_CMD_FIXED: u32 = 1 << 0;
pub const FSYNC_DATASYNC: u32 = 1 << 0;
/// In `op_flags` of a write: RWF_DSYNC.
pub const WRITE_DSYNC: u32 = 1 << 1;
/// `_IO(0x12, 0)`, Linux 6.12.
pub const BLOCK_URING_CMD_DISCARD: u64 = 0x1200;

pub const SETUP_IOPOLL: u32 = 1 << 0;
pub const SETUP_CQSIZE: u32 = 1 << 3;
pub const SETUP_COOP_TASKRUN: u32 = 1 << 8;
pub const SETUP_TASKRUN_FLAG: u32 = 1 << 9;
pub const SETUP_SQE128: u32 = 1 << 10;
pub const SETUP_CQE32: u32 = 1 << 11;
pub const SETUP_SINGLE_ISSUER: u32 = 1 << 12;
pub const SETUP_DEFER_TASKRUN: u32 = 1 << 13;
pub const SETUP_NO_SQARRAY: u32 = 1 << 16;

pub const FEAT_SINGLE_MMAP: u32 = 1 << 0;
pub const FEAT_NODROP: u32 = 1 << 1;
pub const FEAT_EXT_ARG: u32 = 1 << 8;

pub const ENTER_GETEVENTS: u32 = 1 << 0;
pub const ENTER_EXT_ARG: u32 = 1 << 3;
pub const ENTER_REGISTERED_RING: u32 = 1 << 4;

pub const REGISTER_BUFFERS: u32 = 0;
pub const REGISTER_FILES: u32 = 2;
pub const REGISTER_RING_FDS: u32 = 20;

pub const OFF_SQ_RING: i64 = 0;
pub const OFF_CQ_RING: i64 = 0x800_0000;
pub const OFF_SQES: i64 = 0x1000_0000;

#[repr(C)]
#[derive(Default, Clone, Copy)]
pub struct SqOffsets {
    pub head: u32,
    pub tail: u32,
    pub ring_mask: u32,
    pub ring_entries: u32,
    pub flags: u32,
    pub dropped: u32,
    pub array: u32,
    pub reserved: u32,
    pub user_address: u64,
}

#[repr(C)]
#[derive(Default, Clone, Copy)]
pub struct CqOffsets {
    pub head: u32,
    pub tail: u32,
    pub ring_mask: u32,
    pub ring_entries: u32,
    pub overflow: u32,
    pub cqes: u32,
    pub flags: u32,
    pub reserved: u32,
    pub user_address: u64,
}

#[repr(C)]
#[derive(Default, Clone, Copy)]
pub struct Params {
    pub sq_entries: u32,
    pub cq_entries: u32,
    pub flags: u32,
    pub sq_thread_cpu: u32,
    pub sq_thread_idle: u32,
    pub features: u32,
    pub wq_fd: u32,
    pub reserved: [u32; 3],
    pub sq_off: SqOffsets,
    pub cq_off: CqOffsets,
}

#[repr(C)]
#[derive(Default, Clone, Copy)]
pub struct Sqe {
    pub opcode: u8,
    pub flags: u8,
    pub ioprio: u16,
    pub fd: i32,
    /// Offset; for OP_URING_CMD the command.
    pub off: u64,
    pub addr: u64,
    pub len: u32,
    pub op_flags: u32,
    pub user_data: u64,
    pub buf_index: u16,
    pub personality: u16,
    pub file_index: u32,
    pub addr3: u64,
    pub reserved: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Cqe {
    pub user_data: u64,
    pub res: i32,
    pub flags: u32,
}

#[repr(C)]
pub struct GeteventsArg {
    pub sigmask: u64,
    pub sigmask_bytes: u32,
    pub min_wait_us: u32,
    pub timeout: u64,
}

#[repr(C)]
pub struct RsrcUpdate {
    pub offset: u32,
    pub reserved: u32,
    pub data: u64,
}

#[repr(C)]
pub struct Timespec {
    pub seconds: i64,
    pub nanoseconds: i64,
}

const _: () = {
    assert!(size_of::<Params>() == 120);
    assert!(size_of::<Sqe>() == 64);
    assert!(size_of::<Cqe>() == 16);
    assert!(size_of::<GeteventsArg>() == 24);
    assert!(size_of::<RsrcUpdate>() == 16);
};
