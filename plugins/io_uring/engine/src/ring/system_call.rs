//! io_uring_enter without the detour over libc, which is another page of code, and some
//! fifteen instructions for each I/O at queue depth 1.

/// Returns what the kernel returns: a count, or minus errno. `words` are how many to
/// submit, how many completions to wait for, and the flags.
///
/// # Safety
/// `argument` must be valid for that many bytes, or null; and so must be what the entries
/// that are submitted point to.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub unsafe fn enter(fd: i32, words: [u32; 3], argument: *const u8, bytes: usize) -> isize {
    let outcome: isize;
    // SAFETY: the kernel's calling convention: arguments in these registers, two of which
    // it overwrites; it touches no stack of ours. Memory counts as changed.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_io_uring_enter as isize => outcome,
            in("rdi") fd as isize,
            in("rsi") words[0] as usize,
            in("rdx") words[1] as usize,
            in("r10") words[2] as usize,
            in("r8") argument,
            in("r9") bytes,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    outcome
}

/// The same by libc.
///
/// # Safety
/// As above.
#[cfg(not(target_arch = "x86_64"))]
pub unsafe fn enter(fd: i32, words: [u32; 3], argument: *const u8, bytes: usize) -> isize {
    let [submit, wanted, flags] = words;
    let number = libc::SYS_io_uring_enter;
    // SAFETY: by the contract of this function.
    let outcome = unsafe { libc::syscall(number, fd, submit, wanted, flags, argument, bytes) };
    match outcome {
        -1 => -(crate::job::failure::last_errno() as isize),
        count => count as isize,
    }
}
