//! Stop signals, the end of the parent process, and timer slack.

use std::sync::mpsc::Sender;

use crate::threads::message::Message;

fn stop_signals() -> libc::sigset_t {
    // SAFETY: sigset_t is plain data that sigemptyset initialises.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

/// Must run before any other thread is started: they inherit the mask.
pub fn block() {
    let set = stop_signals();
    // SAFETY: `set` is valid; the old mask is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
}

/// A thread that turns each signal into a message.
pub fn forward(messages: Sender<Message>) {
    std::thread::spawn(move || {
        let set = stop_signals();
        let mut signal = 0;
        loop {
            // SAFETY: both are valid during the call; the signals are blocked.
            let rc = unsafe { libc::sigwait(&set, &mut signal) };
            if rc == 0 && messages.send(Message::Signal).is_err() {
                return;
            }
        }
    });
}

/// The kernel kills this process when its parent ends, so that no I/O is done without
/// somebody who wants it. False if the parent has ended already.
pub fn die_with_parent() -> bool {
    // SAFETY: neither call touches memory.
    unsafe {
        let before = libc::getppid();
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        before == libc::getppid()
    }
}

/// The smallest timer slack, for this thread and those that it starts.
pub fn exact_timers() {
    // SAFETY: touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
