//! What a power cut did to writes as wholes: which were torn, and whether any survived
//! that was issued after a flush whose own writes are lost.
//!
//! Writes are numbered as they are issued. The stamp of a block says which write it is
//! of, and where in it; the map says of a flushed block how many had been issued by then.

use serde_json::json;

use crate::job::event::Facts;

/// Of which write a block is, and how many of its blocks lie before and after it. The
/// write 0 is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    pub write: u64,
    before: u16,
    after: u16,
    /// The write follows a log.
    follows: bool,
}

impl Place {
    pub fn new(write: u64, at: usize, blocks: usize) -> Self {
        let short = |count: usize| u16::try_from(count).ok();
        // Of a write of more blocks than that, nothing is said.
        let (before, after) = short(at).zip(short(blocks - 1 - at)).unwrap_or((0, 0));
        Self {
            write,
            before,
            after,
            follows: false,
        }
    }

    pub fn of_follower(self, follows: bool) -> Self {
        Self { follows, ..self }
    }

    /// The upper half of a word of the stamp, and the highest bit of the lower one.
    pub fn bits(self) -> u64 {
        let follows = u64::from(self.follows) << 31;
        u64::from(self.after) << 48 | u64::from(self.before) << 32 | follows
    }

    pub fn of(write: u64, bits: u64) -> Self {
        Self {
            write,
            before: (bits >> 32) as u16,
            after: (bits >> 48) as u16,
            follows: bits >> 31 & 1 == 1,
        }
    }

    /// The write that ends between this block and the next one, though it covered both,
    /// and how many of its blocks lie before. Each is what was found there.
    fn tear(self, next: Self) -> Option<(u64, u64)> {
        let (write, before) = match self.write.cmp(&next.write) {
            std::cmp::Ordering::Greater if self.after > 0 => {
                (self.write, u64::from(self.before) + 1)
            }
            std::cmp::Ordering::Less if next.before > 0 => (next.write, next.before.into()),
            _ => return None,
        };
        Some((write, before))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aftermath {
    torn_writes: u64,
    /// They were torn at multiples of so many blocks.
    unit_blocks: u64,
    /// The last write of which a block was found.
    newest: u64,
    /// The last of them that follows a log.
    newest_follower: u64,
    /// Of each block that was durable and is lost: how many writes had been issued then,
    /// and whether it was of a log.
    lost: Vec<(u64, bool)>,
}

impl Aftermath {
    /// Of neighbours that were read together, None for one that says nothing.
    pub fn of(places: &[Option<Place>]) -> Self {
        let mut found = Self::default();
        let mut last = 0;
        for pair in places.windows(2) {
            let tear = pair[0].zip(pair[1]).and_then(|(one, next)| one.tear(next));
            if let Some((write, blocks)) = tear {
                found.torn_writes += u64::from(write != last);
                found.unit_blocks = common(found.unit_blocks, blocks);
                last = write;
            }
        }
        let writes = places.iter().flatten().map(|place| place.write);
        found.newest = writes.max().unwrap_or(0);
        let followers = places.iter().flatten().filter(|place| place.follows);
        found.newest_follower = followers.map(|place| place.write).max().unwrap_or(0);
        found
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A block was durable when so many writes had been issued, and is lost.
    pub fn lost(&mut self, issued: u64, log: bool) {
        self.lost.push((issued, log));
    }

    pub fn add(&mut self, other: &Self) {
        self.torn_writes += other.torn_writes;
        self.unit_blocks = common(self.unit_blocks, other.unit_blocks);
        self.newest = self.newest.max(other.newest);
        self.newest_follower = self.newest_follower.max(other.newest_follower);
        self.lost.extend(&other.lost);
    }

    /// Blocks lost although a write survived that was issued after they were durable.
    fn reordered(&self) -> usize {
        let lost = self.lost.iter();
        lost.filter(|(issued, _)| *issued < self.newest).count()
    }

    /// Those of a log, where the write that survived follows it.
    fn overtaken(&self) -> usize {
        let lost = self.lost.iter().filter(|(_, log)| *log);
        lost.filter(|(issued, _)| *issued < self.newest_follower)
            .count()
    }

    pub fn facts(&self, block_bytes: u64) -> Facts {
        let mut facts = Facts::new();
        facts.insert("reordered".into(), json!(self.reordered()));
        facts.insert("overtaken".into(), json!(self.overtaken()));
        facts.insert("torn_writes".into(), json!(self.torn_writes));
        let unit_bytes = self.unit_blocks * block_bytes;
        facts.insert("torn_unit_bytes".into(), json!(unit_bytes));
        facts
    }
}

/// The largest divisor of both; 0 is divided by all.
fn common(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        _ => common(other, one % other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(number: u64, blocks: usize) -> Vec<Option<Place>> {
        let places = (0..blocks).map(|at| Some(Place::new(number, at, blocks)));
        places.collect()
    }

    #[test]
    fn a_write_of_which_one_side_is_older_is_torn() {
        let (old, new) = (write(3, 8), write(5, 8));
        for (at, unit) in [(1, 1), (2, 2), (4, 4), (6, 6)] {
            for torn in [
                [&new[..at], &old[at..]].concat(),
                [&old[..at], &new[at..]].concat(),
                [&new[..at], &vec![Some(Place::default()); 8 - at]].concat(),
            ] {
                let found = Aftermath::of(&torn);
                assert_eq!((found.torn_writes, found.unit_blocks), (1, unit));
            }
        }
        let twice = [&old[..2], &new[2..6], &old[6..]].concat();
        let found = Aftermath::of(&twice);
        assert_eq!((found.torn_writes, found.unit_blocks), (1, 2));
    }

    #[test]
    fn whole_writes_and_what_was_written_over_are_not_torn() {
        let (old, new, over) = (write(3, 8), write(5, 8), write(7, 4));
        let unknown = vec![None; 4];
        for whole in [
            [&old[..], &new].concat(),
            [&new[..], &old].concat(),
            [&new[..2], &over, &new[6..]].concat(),
            [&new[..4], &unknown].concat(),
        ] {
            let found = Aftermath::of(&whole);
            assert_eq!((found.torn_writes, found.unit_blocks), (0, 0), "{whole:?}");
        }
    }

    #[test]
    fn units_of_all_reads_have_one_that_divides_them() {
        let mut all = Aftermath::default();
        for at in [8, 12] {
            let torn = [&write(9, 16)[..at], &write(2, 16)[at..]].concat();
            all.add(&Aftermath::of(&torn));
        }
        let facts = all.facts(512);
        assert_eq!(
            (&facts["torn_writes"], &facts["torn_unit_bytes"]),
            (&json!(2), &json!(2048))
        );
    }

    #[test]
    fn what_survives_and_was_issued_after_the_flush_is_reordered() {
        for (survived, reordered) in [(4, 0), (5, 0), (6, 1), (9, 2)] {
            let mut all = Aftermath::of(&write(survived, 2));
            let mut lost = Aftermath::default();
            lost.lost(5, false);
            lost.lost(8, false);
            all.add(&lost);
            assert_eq!(all.facts(512)["reordered"], json!(reordered));
            assert_eq!(all.facts(512)["overtaken"], json!(0), "no log");
        }
    }

    #[test]
    fn a_log_is_overtaken_by_what_follows_it_only() {
        for (follows, of_log, overtaken) in [(true, true, 1), (false, true, 0), (true, false, 0)] {
            let place = Place::new(9, 0, 1).of_follower(follows);
            let mut all = Aftermath::of(&[Some(place)]);
            all.lost(5, of_log);
            all.lost(9, of_log);
            let facts = all.facts(512);
            assert_eq!(
                (&facts["overtaken"], &facts["reordered"]),
                (&json!(overtaken), &json!(1))
            );
        }
    }

    #[test]
    fn a_place_is_read_as_it_was_written() {
        let follower = Place::new(7, 2, 9).of_follower(true);
        for place in [Place::new(7, 2, 9), follower, Place::new(1, 0, 1 << 20)] {
            assert_eq!(Place::of(place.write, place.bits()), place);
        }
    }
}
