use super::header::Header;
use crate::plan::{MEDIA_DATAGRAM, Media, Plan};
use bytes::{Bytes, BytesMut};
use paceline::{DatagramOptions, DatagramPriority};
use std::ops::Range;
use std::time::Duration;
use units::Bandwidth;

/// Makes the frames of a video, one after the other.
#[derive(Debug)]
pub struct Encoder {
    media: Media,
    /// The most bytes of a datagram.
    size: usize,
    /// The number of the next frame, and when the first one was due.
    next: u64,
    begin: Duration,
    clock: u64,
    /// Datagrams so far.
    datagrams: u64,
    judged: Range<u64>,
    sent: u64,
    noise: Bytes,
}

impl Encoder {
    /// Begins at `begin` of the clock that is called `clock`; `None` where the plan has no video.
    /// `noise` fills the datagrams.
    pub fn new(plan: &Plan, begin: Duration, clock: u64, noise: Bytes) -> Option<Self> {
        let media = plan.extras.media?;
        let size = plan.extras.datagrams.and_then(|datagrams| datagrams.size);
        Some(Self {
            media,
            size: size.unwrap_or(MEDIA_DATAGRAM).into(),
            next: 0,
            begin,
            clock,
            datagrams: 0,
            judged: media.judged(plan.omit, plan.measured_time().unwrap_or_default()),
            sent: 0,
            noise,
        })
    }

    /// When the next frame is due, by the encoder's clock.
    pub fn due(&self) -> Duration {
        self.begin.saturating_add(self.media.video.due(self.next))
    }

    /// How the datagrams of the newest frame are sent: what is late anyway is dropped before it
    /// leaves, and a key frame, which those after it need, overtakes what waits.
    pub fn options(&self) -> DatagramOptions {
        let options = DatagramOptions::default().ttl(self.media.late);
        match self.media.video.is_key(self.next.saturating_sub(1)) {
            true => options.priority(DatagramPriority::Urgent),
            false => options,
        }
    }

    /// The datagrams of the next frame, which is made at `now`, where the transport recommends
    /// `hint`.
    pub fn frame(&mut self, now: Duration, hint: Bandwidth) -> Vec<Bytes> {
        let (video, frame) = (self.media.video, self.next);
        self.next += 1;
        let rate = video.rate(video.due(frame), hint);
        let bytes = usize::try_from(video.bytes(frame, rate)).unwrap_or(usize::MAX);
        let count = bytes.div_ceil(self.size).max(1);
        let mut header = Header {
            number: self.datagrams,
            departure: now,
            frame: u32::try_from(frame).unwrap_or(u32::MAX),
            index: 0,
            count: u16::try_from(count).unwrap_or(u16::MAX),
            birth: now,
            clock: self.clock,
        };
        let datagrams = (0..header.count).map(|index| {
            header.number += 1;
            header.index = index;
            // The first ones have what does not divide evenly.
            let size = bytes / count + usize::from(usize::from(index) < bytes % count);
            let mut datagram = BytesMut::with_capacity(size);
            header.write(&mut datagram);
            let rest = size.saturating_sub(datagram.len()).min(self.noise.len());
            datagram.extend_from_slice(&self.noise[..rest]);
            datagram.freeze()
        });
        let datagrams: Vec<Bytes> = datagrams.collect();
        self.datagrams += datagrams.len() as u64;
        self.sent += u64::from(self.judged.contains(&frame));
        datagrams
    }

    /// Frames so far that count.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Frames so far, the warm-up's and the last ones included.
    pub fn made(&self) -> u64 {
        self.next
    }

    /// Datagrams so far.
    pub fn datagrams(&self) -> u64 {
        self.datagrams
    }
}
