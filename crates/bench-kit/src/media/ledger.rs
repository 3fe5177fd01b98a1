use super::header::Header;
use crate::plan::{MEDIA_DATAGRAM, Media, Plan};
use crate::sample::FrameReport;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// What has become of a video's frames at its receiver. Whatever comes, it keeps no more than the
/// plan has frames, and few of them incomplete.
#[derive(Debug)]
pub struct FrameLedger {
    media: Media,
    clock: u64,
    /// The frames that count.
    judged: Range<u64>,
    /// The most datagrams that a frame has.
    parts: u64,
    /// Those of which something is missing still.
    open: BTreeMap<u64, Open>,
    complete: BTreeMap<u64, Complete>,
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
    at: Duration,
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
        let largest = media.video.bytes(0, media.most()) + 1;
        Some(Self {
            media,
            clock,
            parts: largest.div_ceil(size),
            judged: media.judged(plan.omit, plan.measured_time().unwrap_or_default()),
            open: BTreeMap::new(),
            complete: BTreeMap::new(),
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
        if self.judged.contains(&frame) && !self.complete.contains_key(&frame) {
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
            self.complete.insert(frame, Complete { transit, at });
        } else if self.open.len() > MAX_OPEN {
            self.open.pop_first();
        }
    }

    /// The frames that count, where the fastest datagram took `one_way` if the clocks differ.
    pub fn report(&self, one_way: Duration) -> FrameReport {
        let offset = match self.fastest {
            Some(fastest) if !self.is_clock_shared => fastest.saturating_sub(nanos(one_way)),
            _ => 0,
        };
        let give_up = self.media.give_up();
        let latency = |complete: &Complete| {
            let nanos = complete.transit.saturating_sub(offset);
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
        };
        let in_time = self.complete.values();
        let in_time: Vec<&Complete> = in_time
            .filter(|complete| latency(complete) <= give_up)
            .collect();
        let latencies = in_time.iter().map(|complete| latency(complete)).collect();
        let judged = self.judged.end - self.judged.start;
        FrameReport {
            freeze: self.freeze(in_time.iter().map(|complete| complete.at), offset),
            is_clock_shared: self.is_clock_shared,
            ..FrameReport::new(judged, latencies, self.media.late)
        }
    }

    /// The longest time between two arrivals of complete frames; also from when the first frame
    /// that counts was made, and to when the last one was.
    fn freeze(&self, arrivals: impl Iterator<Item = Duration>, offset: i64) -> Duration {
        let due = |frame: u64| {
            let begin = self.begin.unwrap_or_default().saturating_add(offset);
            let due = nanos(self.media.video.due(frame)).saturating_add(begin);
            Duration::from_nanos(u64::try_from(due).unwrap_or(0))
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

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Frames of which something is missing: four seconds of 240 a second.
const MAX_OPEN: usize = 1_024;

#[cfg(test)]
mod tests;
