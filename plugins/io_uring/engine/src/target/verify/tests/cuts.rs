//! What was promised of a block, and is or is not there after a power cut.

use super::{faults, promising, write};
use crate::pattern::sizes::Direction;
use crate::target::verify::Verifier;
use crate::target::verify::judge::Fault;

/// A map in a file, and what a verifier wrote before a cut of the power.
fn cut(fua: bool, work: impl Fn(&mut Verifier) -> Vec<Vec<u8>>) -> (Verifier, Vec<Vec<u8>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("map");
    let written = work(&mut promising(path.to_str(), fua));
    let file = std::fs::OpenOptions::new().write(true).open(&path);
    let one = 1u64.to_le_bytes();
    std::os::unix::fs::FileExt::write_all_at(&file.expect("it"), &one, 48).expect("a write");
    (promising(path.to_str(), fua), written)
}

fn flush(verifier: &mut Verifier) {
    let number = verifier.begin_flush();
    verifier.end_flush(number, true);
}

#[test]
fn a_cut_may_take_back_what_no_flush_covers() {
    let (later, written) = cut(false, |verifier| {
        (0..3).map(|_| write(verifier, 8192)).collect()
    });
    let verdict = later.check(8192, &written[0]);
    assert_eq!(verdict.promised, [0; 3]);
    assert_eq!((verdict.rolled_back, verdict.mismatches), (8, vec![]));
    // What it was found to be it has to stay.
    assert_eq!(faults(&later, 8192, &written[2]), [Fault::Stale; 8]);
    let (later, _) = cut(false, |verifier| vec![write(verifier, 8192)]);
    let verdict = later.check(8192, &[0; 4096]);
    assert_eq!((verdict.rolled_back, verdict.mismatches), (8, vec![]));
}

#[test]
fn a_cut_may_not_take_back_what_a_flush_covers() {
    let work = |verifier: &mut Verifier| {
        let old = write(verifier, 8192);
        let flushed = write(verifier, 8192);
        let number = verifier.begin_flush();
        let during = write(verifier, 8192);
        verifier.end_flush(number, true);
        vec![old, flushed, during]
    };
    for (found, kept, rolled_back, lost) in [(2, 8, 0, 0), (1, 0, 8, 0), (0, 0, 0, 8)] {
        let (later, written) = cut(false, work);
        let verdict = later.check(8192, &written[found]);
        assert_eq!((verdict.kept, verdict.rolled_back), (kept, rolled_back));
        assert_eq!(verdict.promised, [8, 0, 0]);
        let lost_flushed = verdict.mismatches.iter();
        let lost_flushed = lost_flushed.filter(|one| one.fault == Fault::LostFlushed);
        assert_eq!(lost_flushed.count(), lost);
    }
    let (later, _) = cut(false, work);
    assert_eq!(faults(&later, 8192, &[0; 4096]), [Fault::LostFlushed; 8]);
}

/// A discard may fail or be lost, and what was written after it: either is allowed.
#[test]
fn a_cut_may_bring_back_what_was_discarded() {
    for _ in 0..32 {
        let (later, written) = cut(false, |verifier| {
            let old = write(verifier, 8192);
            flush(verifier);
            verifier.forget(8192, 4096);
            vec![old, write(verifier, 8192)]
        });
        let verdict = later.check(8192, &written[0]);
        assert_eq!((verdict.rolled_back, verdict.mismatches), (8, vec![]));
    }
}

#[test]
fn a_cut_may_not_bring_back_what_was_discarded_below_what_is_flushed() {
    for _ in 0..32 {
        let (later, written) = cut(false, |verifier| {
            let old = write(verifier, 8192);
            verifier.forget(8192, 4096);
            write(verifier, 8192);
            flush(verifier);
            vec![old]
        });
        assert_eq!(faults(&later, 8192, &written[0]), [Fault::LostFlushed; 8]);
    }
}

#[test]
fn a_flush_that_fails_promises_nothing() {
    let (later, written) = cut(false, |verifier| {
        let old = write(verifier, 8192);
        write(verifier, 8192);
        let number = verifier.begin_flush();
        verifier.end_flush(number, false);
        vec![old]
    });
    assert_eq!(later.check(8192, &written[0]).rolled_back, 8);
}

/// As those do whose power goes while they are written.
#[test]
fn a_write_that_fails_takes_back_no_promise() {
    let work = |verifier: &mut Verifier| {
        let old = write(verifier, 8192);
        let flushed = write(verifier, 8192);
        flush(verifier);
        let mut failed = vec![0xa5; 4096];
        verifier.stamp(8192, &mut failed);
        verifier.complete(Direction::Write, 8192, 4096, false, None);
        assert_eq!(faults(verifier, 8192, &[0; 4096]), [], "not known yet");
        assert_eq!(faults(verifier, 8192, &old), []);
        vec![old, flushed, failed]
    };
    for found in [2, 1] {
        let (later, written) = cut(false, work);
        let verdict = later.check(8192, &written[found]);
        assert_eq!((verdict.kept, verdict.rolled_back), (8, 0));
        assert_eq!(verdict.promised, [8, 0, 0]);
    }
    let (later, written) = cut(false, work);
    assert_eq!(faults(&later, 8192, &written[0]), [Fault::LostFlushed; 8]);
    let (later, _) = cut(false, work);
    assert_eq!(faults(&later, 8192, &[0; 4096]), [Fault::LostFlushed; 8]);
}

#[test]
fn a_write_with_fua_is_kept() {
    let work = |verifier: &mut Verifier| (0..2).map(|_| write(verifier, 8192)).collect();
    let (later, written) = cut(true, work);
    assert_eq!(later.check(8192, &written[1]).kept, 8);
    let (later, written) = cut(true, work);
    assert_eq!(faults(&later, 8192, &written[0]), [Fault::LostFua; 8]);
    let (later, written) = cut(true, work);
    let torn = [&written[1][..256], &written[0][256..]].concat();
    assert_eq!(faults(&later, 8192, &torn)[0], Fault::Checksum, "FUA");
    let (later, written) = cut(true, work);
    assert_eq!(faults(&later, 4096, &written[0]), [Fault::Misdirected; 8]);
}

/// Of a drive that is dead, each block several.
#[test]
fn writes_that_fail_are_not_rolled_back() {
    for unknown_before in [false, true] {
        let (later, written) = cut(false, |verifier| {
            let old = (0..2).map(|_| write(verifier, 8192)).next_back();
            if unknown_before {
                verifier.forget(8192, 4096);
            }
            let failed = (0..3).map(|_| {
                let mut failed = vec![0xa5; 4096];
                verifier.stamp(8192, &mut failed);
                verifier.complete(Direction::Write, 8192, 4096, false, None);
                failed
            });
            let failed: Vec<_> = failed.collect();
            vec![old.expect("it"), failed[1].clone()]
        });
        let verdict = later.check(8192, &written[usize::from(unknown_before)]);
        let kept = 8 * u64::from(!unknown_before);
        assert_eq!((verdict.kept, verdict.rolled_back), (kept, 0));
        assert_eq!(verdict.mismatches, []);
    }
}

/// Wherever it is, in a block that is durable or not.
#[test]
fn a_flipped_bit_is_no_tear() {
    for flushed in [true, false] {
        for bit in [0, 63, 70, 200, 330, 360, 400, 4095] {
            let (later, written) = cut(false, |verifier| {
                let written = (0..2).map(|_| write(verifier, 8192)).collect();
                if flushed {
                    flush(verifier);
                }
                written
            });
            let mut damaged = written[1].clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(faults(&later, 8192, &damaged), [Fault::Checksum], "{bit}");
        }
    }
    let (later, written) = cut(false, |verifier| {
        (0..2).map(|_| write(verifier, 8192)).collect()
    });
    let torn = [&written[1][..256], &written[0][256..]].concat();
    assert_eq!(faults(&later, 8192, &torn)[0], Fault::Torn);
}

#[test]
fn what_was_read_after_a_cut_survives_the_next_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("map");
    let path = path.to_str();
    let count = |cuts: u64| {
        let file = std::fs::OpenOptions::new()
            .write(true)
            .open(path.expect("a path"));
        let file = file.expect("the map");
        std::os::unix::fs::FileExt::write_all_at(&file, &cuts.to_le_bytes(), 48).expect("it");
    };
    let mut first = promising(path, false);
    let (old, new) = (write(&mut first, 8192), write(&mut first, 8192));
    count(1);
    assert_eq!(promising(path, false).check(8192, &new).kept, 8);
    count(2);
    let later = promising(path, false);
    assert_eq!(faults(&later, 8192, &old), [Fault::OlderThanDurable; 8]);
    // A write since the cut, of which nothing was read, is strict again.
    count(3);
    let mut third = promising(path, false);
    let newest = write(&mut third, 8192);
    assert_eq!(faults(&third, 8192, &newest), []);
    flush(&mut third);
    count(4);
    let fourth = promising(path, false);
    assert_eq!(faults(&fourth, 8192, &old), [Fault::LostFlushed; 8]);
}
