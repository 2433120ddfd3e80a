//! The map of stamps on another host, which keeps its power: what changes here is sent
//! there, and counts once it is answered (`ioplan.runner.journal.wire` has the frames).

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::FromRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::job::failure::{Cause, Failure, errno_name};
use crate::threads::shared::lock;

const WRITE: u32 = 1;
const EMPTY: u32 = 3;
/// How long the other host may take for anything.
const PATIENCE: Duration = Duration::from_secs(10);

/// A link; frames of all threads go through it, and are answered in their order.
pub struct Remote {
    /// How many frames were sent.
    sending: Mutex<u64>,
    link: TcpStream,
    answers: Arc<Answers>,
}

#[derive(Default)]
struct Answers {
    done: AtomicU64,
    is_broken: AtomicBool,
    why: Mutex<Option<String>>,
    changed: Condvar,
}

impl Answers {
    fn fail(&self, why: String) {
        lock(&self.why).get_or_insert(why);
        self.is_broken.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    /// Reads answers to the end of the link.
    fn read(&self, mut link: TcpStream) {
        let mut answer = [0; 16];
        loop {
            if link.read_exact(&mut answer).is_err() {
                return self.fail("the link to it has ended".into());
            }
            let [errno, _, low, high] = [0, 4, 8, 12].map(|at| {
                answer[at..]
                    .first_chunk::<4>()
                    .map_or(0, |b| u32::from_le_bytes(*b))
            });
            if errno != 0 {
                return self.fail(format!("it cannot write: {}", errno_name(errno as i32)));
            }
            let _held = lock(&self.why);
            self.done
                .store(u64::from(high) << 32 | u64::from(low), Ordering::Release);
            self.changed.notify_all();
        }
    }
}

/// A part of the map, from a place on.
pub type Part = (u64, Vec<u8>);

impl Remote {
    /// Takes over a link that Python has opened.
    pub fn take(fd: i32) -> Result<Self, Failure> {
        // SAFETY: the job names a descriptor that was left to this process for it.
        let link = unsafe { TcpStream::from_raw_fd(fd) };
        let both = link
            .set_nonblocking(false)
            .and_then(|()| link.set_write_timeout(Some(PATIENCE)))
            .and_then(|()| link.set_read_timeout(None))
            .and_then(|()| link.try_clone());
        let reading = both.map_err(|error| Failure::internal("the journal's link", &error))?;
        let answers = Arc::new(Answers::default());
        let reader = answers.clone();
        std::thread::spawn(move || reader.read(reading));
        Ok(Self {
            sending: Mutex::new(0),
            link,
            answers,
        })
    }

    /// Sends what has changed; returns the number to wait for.
    pub fn send(&self, parts: &[Part]) -> u64 {
        let frames = parts.iter().map(|(at, bytes)| (WRITE, *at, &bytes[..]));
        self.send_frames(frames)
    }

    /// Nothing is known any more.
    pub fn empty(&self) -> u64 {
        self.send_frames([(EMPTY, 0, &[][..])].into_iter())
    }

    fn send_frames<'a>(&self, frames: impl Iterator<Item = (u32, u64, &'a [u8])>) -> u64 {
        let mut sent = lock(&self.sending);
        let mut all = Vec::new();
        for (kind, at, bytes) in frames {
            *sent += 1;
            all.extend_from_slice(&kind.to_le_bytes());
            all.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            all.extend_from_slice(&at.to_le_bytes());
            all.extend_from_slice(&sent.to_le_bytes());
            all.extend_from_slice(bytes);
        }
        if !self.is_broken()
            && let Err(error) = (&self.link).write_all(&all)
        {
            self.answers
                .fail(format!("nothing can be sent to it: {error}"));
        }
        *sent
    }

    /// Until so many frames are answered, or the link is broken.
    pub fn wait(&self, number: u64) {
        let answers = &self.answers;
        if answers.done.load(Ordering::Acquire) >= number || self.is_broken() {
            return;
        }
        let waiting = |_: &mut Option<String>| {
            answers.done.load(Ordering::Acquire) < number && !self.is_broken()
        };
        let held = lock(&answers.why);
        let waited = answers.changed.wait_timeout_while(held, PATIENCE, waiting);
        if waited.is_ok_and(|(_, timeout)| timeout.timed_out()) {
            answers.fail(format!(
                "it does not answer within {} s",
                PATIENCE.as_secs()
            ));
        }
    }

    pub fn is_broken(&self) -> bool {
        self.answers.is_broken.load(Ordering::Acquire)
    }

    /// Why nothing counts any more.
    pub fn failure(&self) -> Option<Failure> {
        let why = lock(&self.answers.why).clone()?;
        Some(Failure::new(
            Cause::Journal,
            format!(
                "the journal on another host: {why}; the run was ended, as nothing that \
                 is written then would be known after a power cut"
            ),
        ))
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // The reader ends with it; nothing is left to be sent.
        let _ = self.link.shutdown(Shutdown::Both);
    }
}
