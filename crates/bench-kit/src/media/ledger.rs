use super::header::Header;
use crate::plan::{MEDIA_DATAGRAM, Media, Plan};
use crate::sample::{FrameReport, FrameTally};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// What has become of a video's frames at its receiver. Whatever comes, it keeps no more than the
/// plan has frames, and few of them incomplete.
#[derive(Debug)]
pub struct FrameLedger {
    media: Media,
    clock: u64,
    /// The frames that the report is of.
    judged: Range<u64>,
    /// How many frames the run has.
    frames: u64,
    /// The most datagrams that a frame has.
    parts: u64,
    /// Those of which something is missing still.
    open: BTreeMap<u64, Open>,
    complete: BTreeMap<u64, Complete>,
    /// Complete ones that the tally does not have yet.
    fresh: Vec<u64>,
    /// Frames before this one are complete, or have been given up.
    given_up: u64,
    tally: FrameTally,
    /// The least of arrival less departure, in nanoseconds.
    fastest: Option<i64>,
    /// When the first frame was made, as far as the others show, in nanoseconds.
    begin: Option<i64>,
    /// Whether every datagram had this side's clock.
    is_clock_shared: bool,
}

#[derive(Debug)]
struct Open {
    birth: Duration,
    count: u16,
    missing: u16,
    /// A bit for each datagram that has come.
    arrived: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Complete {
    /// Arrival of the last datagram less birth, by two clocks, in nanoseconds.
    transit: i64,
    /// When that was, in nanoseconds of the receiver's clock.
    at: i64,
    /// Whether the tally has it as complete.
    is_tallied: bool,
}

/// The number of a datagram and its departure, for the account of all datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    pub number: u64,
    pub departure: Duration,
}

impl FrameLedger {
    /// For a receiver with the clock that is called `clock`; `None` where the plan has no video.
    pub fn new(plan: &Plan, clock: u64) -> Option<Self> {
        let media = plan.extras.media?;
        let size = plan.extras.datagrams.and_then(|datagrams| datagrams.size);
        let size = u64::from(size.unwrap_or(MEDIA_DATAGRAM)).max(1);
        // The first frame is a key frame; rounding adds a byte to others.
        let measured = plan.measured_time().unwrap_or_default();
        let largest = media.video.bytes(0, media.most()) + 1;
        Some(Self {
            media,
            clock,
            parts: largest.div_ceil(size),
            judged: media.judged(plan.omit, measured),
            frames: media
                .video
                .frames_before(plan.omit.saturating_add(measured)),
            open: BTreeMap::new(),
            complete: BTreeMap::new(),
            fresh: Vec::new(),
            given_up: 0,
            tally: FrameTally::default(),
            fastest: None,
            begin: None,
            is_clock_shared: true,
        })
    }

    /// A datagram has come at `at` of this side's clock; `None` when it is none of a frame.
    pub fn arrive(&mut self, datagram: &[u8], at: Duration) -> Option<Arrived> {
        let header = Header::read(datagram)?;
        if u64::from(header.count) > self.parts {
            return None;
        }
        let frame = u64::from(header.frame);
        self.is_clock_shared &= header.clock == self.clock;
        let transit = nanos(at).wrapping_sub(nanos(header.departure));
        self.fastest = Some(self.fastest.map_or(transit, |fastest| fastest.min(transit)));
        let due = nanos(self.media.video.due(frame));
        let begin = nanos(header.birth).saturating_sub(due);
        self.begin = Some(self.begin.map_or(begin, |least| least.min(begin)));
        if frame < self.frames && !self.complete.contains_key(&frame) {
            self.take(frame, &header, at);
        }
        Some(Arrived {
            number: header.number,
            departure: header.departure,
        })
    }

    fn take(&mut self, frame: u64, header: &Header, at: Duration) {
        let open = self.open.entry(frame).or_insert_with(|| Open {
            birth: header.birth,
            count: header.count,
            missing: header.count,
            arrived: vec![0; usize::from(header.count).div_ceil(64)],
        });
        let (word, bit) = (usize::from(header.index / 64), 1 << (header.index % 64));
        // A count that differs from the frame's first one is wrong, or that one was.
        if open.count == header.count && open.arrived[word] & bit == 0 {
            open.arrived[word] |= bit;
            open.missing -= 1;
        }
        if open.missing == 0 {
            let transit = nanos(at).wrapping_sub(nanos(open.birth));
            self.open.remove(&frame);
            self.complete.insert(
                frame,
                Complete {
                    transit,
                    at: nanos(at),
                    is_tallied: false,
                },
            );
            self.fresh.push(frame);
        } else if self.open.len() > MAX_OPEN {
            self.open.pop_first();
        }
    }

    /// What is known of all frames of the run by `now` of this side's clock, where the fastest
    /// datagram took `one_way` if the clocks differ. A frame is tallied once: one that was complete
    /// before it was given up as such, else it is lost `give_up` after it was due.
    pub fn tally(&mut self, now: Duration, one_way: Duration) -> FrameTally {
        let offset = self.offset(one_way);
        for frame in std::mem::take(&mut self.fresh) {
            let complete = self.complete.get_mut(&frame);
            let complete = complete.filter(|_| frame >= self.given_up);
            let Some(complete) = complete else { continue };
            let latency = latency(complete, offset);
            if latency <= self.media.give_up() {
                complete.is_tallied = true;
                self.tally.complete += 1;
                self.tally.late += u64::from(latency > self.media.late);
            }
        }
        // Before the first datagram nothing is known of when frames are due.
        let Some(begin) = self.begin else {
            return self.tally;
        };
        let begin = begin.saturating_add(offset);
        let wait = nanos(self.media.give_up());
        while self.given_up < self.frames {
            let due = nanos(self.media.video.due(self.given_up));
            if due.saturating_add(begin).saturating_add(wait) >= nanos(now) {
                break;
            }
            let complete = self.complete.get(&self.given_up);
            self.tally.lost += u64::from(!complete.is_some_and(|frame| frame.is_tallied));
            self.given_up += 1;
        }
        self.tally
    }

    /// The frames that count, where the fastest datagram took `one_way` if the clocks differ.
    pub fn report(&self, one_way: Duration) -> FrameReport {
        let offset = self.offset(one_way);
        let give_up = self.media.give_up();
        let counting = self.complete.range(self.judged.clone());
        let in_time: Vec<&Complete> = counting
            .map(|(_, complete)| complete)
            .filter(|complete| latency(complete, offset) <= give_up)
            .collect();
        let latencies = in_time
            .iter()
            .map(|complete| latency(complete, offset))
            .collect();
        let judged = self.judged.end - self.judged.start;
        FrameReport {
            freeze: self.freeze(in_time.iter().map(|complete| positive(complete.at)), offset),
            is_clock_shared: self.is_clock_shared,
            ..FrameReport::new(judged, latencies, self.media.late)
        }
    }

    /// This side's clock less the sender's, in nanoseconds.
    fn offset(&self, one_way: Duration) -> i64 {
        match self.fastest {
            Some(fastest) if !self.is_clock_shared => fastest.saturating_sub(nanos(one_way)),
            _ => 0,
        }
    }

    /// The longest time between two arrivals of complete frames; also from when the first frame
    /// that counts was made, and to when the last one was.
    fn freeze(&self, arrivals: impl Iterator<Item = Duration>, offset: i64) -> Duration {
        let due = |frame: u64| {
            let begin = self.begin.unwrap_or_default().saturating_add(offset);
            positive(nanos(self.media.video.due(frame)).saturating_add(begin))
        };
        let ends = [self.judged.start, self.judged.end.saturating_sub(1)].map(due);
        let mut times: Vec<Duration> = arrivals.chain(ends).collect();
        times.sort_unstable();
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        // What other clocks say may be anything.
        let longest = self.media.video.due(self.judged.end);
        gaps.max()
            .unwrap_or_default()
            .min(longest + self.media.give_up())
    }
}

fn latency(complete: &Complete, offset: i64) -> Duration {
    positive(complete.transit.saturating_sub(offset))
}

fn positive(nanos: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Frames of which something is missing: four seconds of 240 a second.
const MAX_OPEN: usize = 1_024;

#[cfg(test)]
mod tests;
