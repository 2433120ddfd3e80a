//! A file that logs each I/O and behaves by a script: what `ioplan device` starts.
//!
//!     ioplan-device FOLDER LOG < script.json
//!
//! It says `ready` once the folder has the file `disk`, and ends when it is told to by
//! FOLDER/control, a signal, or an unmount.

mod behaviour;
mod device;
mod log;
mod script;
mod store;
mod timer;

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use fuser::{Config, MountOption, Session};

const SIGNALS: [i32; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];
const TELL_EVERY: Duration = Duration::from_millis(200);

fn main() {
    if let Err(error) = run() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn run() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, log] = &words[..] else {
        return Err(io::Error::other(
            "usage: ioplan-device FOLDER LOG < script.json",
        ));
    };
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let script = serde_json::from_str(&text).map_err(io::Error::other)?;
    serve(Path::new(folder), Path::new(log), script)
}

fn serve(folder: &Path, log: &Path, script: script::Script) -> io::Result<()> {
    let (stop, stopped) = channel();
    wait_for_signals(stop.clone());
    let log = Arc::new(log::Log::create(log)?);
    let device = device::Device {
        store: store::Store::new(&script)?,
        behaviour: behaviour::Behaviour::new(script),
        log: log.clone(),
        timer: timer::Timer::start(),
        outstanding: Arc::new(AtomicU64::new(0)),
        off: Arc::new(AtomicBool::new(false)),
        started_ns: timer::now_ns(),
        stop: stop.clone(),
    };
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName("ioplan-device".into())];
    config.n_threads = Some(2);
    let mut session = Session::new(device, folder, &config)?;
    let mut mount = session.unmount_callable();
    thread::spawn(move || {
        let ended = session.run(); // also after an unmount by somebody else
        let _ = stop.send(());
        ended
    });
    println!("ready");
    while stopped.recv_timeout(TELL_EVERY).is_err() {
        log.flush();
    }
    thread::sleep(Duration::from_millis(20)); // the answer to `stop` goes first
    log.flush();
    mount.unmount().or_else(|_| detach(folder))
}

/// A file in it may be open still.
fn detach(folder: &Path) -> io::Result<()> {
    let path = std::ffi::CString::new(folder.as_os_str().as_encoded_bytes())?;
    // SAFETY: a path that ends with a zero.
    match unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn wait_for_signals(stop: Sender<()>) {
    // SAFETY: the set is ours; threads made later inherit what is blocked.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in SIGNALS {
            libc::sigaddset(&mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        thread::spawn(move || {
            let mut got = 0;
            libc::sigwait(&set, &mut got);
            let _ = stop.send(());
        });
    }
}
