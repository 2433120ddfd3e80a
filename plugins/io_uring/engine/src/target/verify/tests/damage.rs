//! Damage without a power cut, and what is no damage.

use super::{faults, verifier, write};
use crate::target::stamps::GENERATION;
use crate::target::verify::generations::{after, before};
use crate::target::verify::judge::Fault;

#[test]
fn what_was_written_is_right() {
    let mut verifier = verifier(None);
    let buffer = write(&mut verifier, 8192);
    let verdict = verifier.check(8192, &buffer);
    assert_eq!((verdict.verified_bytes, verdict.read_bytes), (4096, 4096));
    assert!(verdict.mismatches.is_empty());
}

#[test]
fn every_flipped_bit_is_found() {
    let mut verifier = verifier(None);
    let mut buffer = write(&mut verifier, 8192);
    for bit in 0..512 * 8 {
        buffer[512 + bit / 8] ^= 1 << (bit % 8);
        let verdict = verifier.check(8192, &buffer);
        assert_eq!(verdict.mismatches.len(), 1, "bit {bit}");
        assert_eq!(verdict.mismatches[0].offset_bytes, 8704);
        buffer[512 + bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn each_kind_of_damage_has_its_name() {
    let mut verifier = verifier(None);
    let old = write(&mut verifier, 8192);
    assert_eq!(faults(&verifier, 8192, &[0; 4096]), [Fault::NoStamp; 8]);
    let other = write(&mut verifier, 4096);
    assert_eq!(faults(&verifier, 8192, &other), [Fault::Misdirected; 8]);
    let new = write(&mut verifier, 8192);
    assert_eq!(faults(&verifier, 8192, &old), [Fault::Stale; 8]);
    let torn = [&new[..2048], &old[2048..]].concat();
    assert_eq!(faults(&verifier, 8192, &torn), [Fault::Stale; 4]);
    let torn = [&new[..256], &old[256..]].concat();
    assert_eq!(faults(&verifier, 8192, &torn)[0], Fault::Checksum);
}

#[test]
fn what_is_not_known_is_no_error_and_not_verified() {
    let mut verifier = verifier(None);
    let old = write(&mut verifier, 8192);
    let strange = verifier.check(1 << 20, &[0; 4096]);
    assert_eq!((strange.verified_bytes, strange.read_bytes), (0, 4096));
    assert!(strange.mismatches.is_empty());
    verifier.forget(8192, 4096);
    assert_eq!(faults(&verifier, 8192, &[0; 4096]), []);
    assert_eq!(verifier.check(8192, &old).verified_bytes, 4096);
    assert_eq!(faults(&verifier, 4096, &old), [Fault::Misdirected; 8]);
}

#[test]
fn a_later_run_knows_what_an_earlier_one_wrote() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("map");
    let path = path.to_str();
    let (old, new) = {
        let mut first = verifier(path);
        let old = write(&mut first, 8192);
        (old, write(&mut first, 8192))
    };
    let later = verifier(path);
    assert_eq!(later.check(8192, &new).verified_bytes, 4096);
    assert_eq!(faults(&later, 8192, &old), [Fault::Stale; 8]);
    assert_eq!(faults(&later, 8192, &[0; 4096]), [Fault::NoStamp; 8]);
    assert_eq!(later.check(0, &[0; 4096]).verified_bytes, 0);
}

#[test]
fn of_a_write_in_flight_at_a_kill_either_generation_is_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("map");
    let path = path.to_str();
    let (older, old, mut new) = {
        let mut killed = verifier(path);
        let older = write(&mut killed, 8192);
        (older, write(&mut killed, 8192), vec![0xa5; 4096])
    };
    verifier(path).stamp(8192, &mut new);
    verifier(path).stamp(0, &mut vec![0; 4096]);
    let later = verifier(path);
    assert_eq!(faults(&later, 8192, &[0; 4096]), [Fault::NoStamp; 8]);
    assert_eq!(faults(&later, 8192, &older), [Fault::Stale; 8]);
    assert_eq!(faults(&later, 0, &[0; 4096]), []);
    let half = [&new[..2048], &old[2048..]].concat();
    assert_eq!(later.check(8192, &half).verified_bytes, 4096);
    // What it was found to be it has to stay.
    assert_eq!(faults(&later, 8192, &old), [Fault::Stale; 4]);
    assert_eq!(faults(&later, 8192, &new), [Fault::Stale; 4]);
}

#[test]
fn a_write_that_is_taken_back_was_never_there() {
    let mut verifier = verifier(None);
    let old = write(&mut verifier, 8192);
    verifier.stamp(8192, &mut vec![0; 4096]);
    verifier.take_back(8192, 4096);
    assert_eq!(verifier.check(8192, &old).verified_bytes, 4096);
    verifier.stamp(0, &mut vec![0; 4096]);
    verifier.take_back(0, 4096);
    assert_eq!(faults(&verifier, 0, &[0; 4096]), []);
}

#[test]
fn generations_wrap_around_zero() {
    assert_eq!((after(GENERATION), before(1)), (1, GENERATION));
}

#[test]
fn only_overlaps_with_a_write_conflict() {
    let mut verifier = verifier(None);
    verifier.begin(4096, 4096, false);
    assert!(!verifier.conflicts(4096, 4096, false));
    assert!(verifier.conflicts(7680, 512, true));
    assert!(!verifier.conflicts(8192, 512, true));
    verifier.end(4096, 4096);
    verifier.begin(4096, 4096, true);
    assert!(verifier.conflicts(4096, 512, false));
    verifier.end(4096, 4096);
    assert!(!verifier.conflicts(4096, 512, true));
}
