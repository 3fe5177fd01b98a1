use crate::spec::{DelayTrace, LossTrace, OPPORTUNITY, RateTrace};
use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use units::Bytes;

/// The packets of a pcap file.
#[derive(Debug)]
pub struct Capture<'a> {
    packets: Vec<Captured<'a>>,
}

#[derive(Debug)]
struct Captured<'a> {
    /// Nanoseconds since the file's own epoch.
    at: u64,
    /// At layer 2, Ethernet's header included.
    size: Bytes,
    /// What UDP or TCP carries, or else the packet behind its IP header.
    content: &'a [u8],
}

impl<'a> Capture<'a> {
    /// Reads a file as tcpdump and `link-relay --pcap` write it: either order of bytes, micro- or
    /// nanoseconds, of Ethernet, Linux's cooked devices, or IP alone. Packets that are not IP are
    /// left out, and the end of a file that was cut off is the end.
    ///
    /// # Errors
    /// What the file is instead.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let header = Header::parse(bytes)?;
        let mut packets = Vec::new();
        let mut rest = &bytes[FILE_HEADER..];
        while let Some((record, behind)) = header.record(rest) {
            rest = behind;
            packets.extend(header.packet(record));
        }
        Ok(Self { packets })
    }

    /// Every packet as an opportunity of its size: what a link carried that was kept full. Time
    /// begins one millisecond before the first packet.
    ///
    /// # Errors
    /// When there are no packets, or they are further apart than 2^32 ms.
    pub fn rate_trace(&self) -> Result<RateTrace, String> {
        let begin = self.begin()?;
        let mut opportunities = Vec::new();
        let (mut credit, mut latest) = (Bytes::ZERO, 0);
        for packet in &self.packets {
            let millis = packet.at.saturating_sub(begin) / NANOS_PER_MILLI + 1;
            let millis = u32::try_from(millis).map_err(|_| "packets are over 2^32 ms apart")?;
            latest = millis.max(latest);
            credit += packet.size;
            let due = credit.get() / OPPORTUNITY.get();
            credit -= OPPORTUNITY * due;
            if due > (RateTrace::MAX_OPPORTUNITIES - opportunities.len()) as u64 {
                let most = RateTrace::MAX_OPPORTUNITIES;
                return Err(format!("the packets give more than {most} opportunities"));
            }
            opportunities.extend(core::iter::repeat_n(latest, due as usize));
        }
        // Its length is that of the capture.
        if opportunities.last() != Some(&latest) {
            opportunities.push(latest);
        }
        RateTrace::from_millis(opportunities)
    }

    /// How long the packets of this capture took to that of the receiver: of those sent in a step
    /// of `every` the shortest time, and that of the step before where none arrived. Packets are
    /// recognized by what they carry. Both captures need one clock.
    ///
    /// # Errors
    /// When no packet of this capture arrives there, or the steps are more than 2^25.
    pub fn delay_trace(&self, received: &Self, every: Duration) -> Result<DelayTrace, String> {
        let begin = self.begin()?;
        let every = units::duration::nanos(every).max(1);
        let mut steps: BTreeMap<u64, Duration> = BTreeMap::new();
        for (sent, arrived) in self.journeys(received) {
            let Some(arrived) = arrived else { continue };
            let delay = Duration::from_nanos(arrived - sent);
            let step = steps.entry((sent - begin) / every).or_insert(delay);
            *step = delay.min(*step);
        }
        let (Some((_, first)), Some((last, _))) = (steps.first_key_value(), steps.last_key_value())
        else {
            return Err("no packet of the sender's capture is in the receiver's".to_owned());
        };
        if *last >= MAX_STEPS {
            return Err(format!("more than {MAX_STEPS} steps; make them longer"));
        }
        let mut delay = *first;
        let delays = (0..=*last).map(|step| {
            delay = steps.get(&step).copied().unwrap_or(delay);
            delay
        });
        Ok(DelayTrace::new(delays.collect()).expect("there is a first step"))
    }

    /// Which packets of this capture are not in that of the receiver, in the order of sending.
    ///
    /// # Errors
    /// When this capture has no packet for the receiver.
    pub fn loss_trace(&self, received: &Self) -> Result<LossTrace, String> {
        let lost = self.journeys(received);
        let lost = lost.into_iter().map(|(_, arrived)| arrived.is_none());
        LossTrace::new(lost.collect()).ok_or_else(|| NO_PACKETS.to_owned())
    }

    /// When each packet was sent and when it arrived, if it did. One that the receiver had first
    /// came from there and is left out.
    fn journeys(&self, received: &Self) -> Vec<(u64, Option<u64>)> {
        let mut arrivals: BTreeMap<&[u8], VecDeque<u64>> = BTreeMap::new();
        for packet in &received.packets {
            let times = arrivals.entry(packet.content).or_default();
            times.push_back(packet.at);
        }
        let journeys = self.packets.iter().filter_map(|packet| {
            let arrived = arrivals.get_mut(packet.content);
            match arrived.and_then(VecDeque::pop_front) {
                Some(arrived) if arrived < packet.at => None,
                arrived => Some((packet.at, arrived)),
            }
        });
        journeys.collect()
    }

    fn begin(&self) -> Result<u64, String> {
        let times = self.packets.iter().map(|packet| packet.at);
        times.min().ok_or_else(|| NO_PACKETS.to_owned())
    }
}

/// What the file's header says about all of its packets.
#[derive(Debug, Clone, Copy)]
struct Header {
    is_big_endian: bool,
    /// Nanoseconds of the second number of a time.
    unit: u64,
    /// Before the IP header.
    link_header: usize,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let header = bytes.get(..FILE_HEADER);
        let header = header.ok_or("not a pcap file: shorter than its header")?;
        let magic = number(header, 0, false);
        let (is_big_endian, unit) = match magic {
            0xa1b2_c3d4 => (false, 1_000),
            0xa1b2_3c4d => (false, 1),
            0xd4c3_b2a1 => (true, 1_000),
            0x4d3c_b2a1 => (true, 1),
            0x0a0d_0d0a => {
                return Err("pcapng; make it pcap with `editcap -F pcap` first".to_owned());
            }
            other => return Err(format!("not a pcap file: begins with {other:#010x}")),
        };
        let link_header = match number(header, 20, is_big_endian) {
            0 => 4,
            1 => ETHERNET_HEADER,
            12 | 14 | 101 | 228 | 229 => 0,
            113 => 16,
            276 => 20,
            other => {
                return Err(format!(
                    "link type {other}; known: 0, 1 (Ethernet), 101 (IP), 113 and 276 (Linux)"
                ));
            }
        };
        Ok(Self {
            is_big_endian,
            unit,
            link_header,
        })
    }

    /// The first packet with its header, and what is behind it.
    fn record<'a>(&self, rest: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let header = rest.get(..RECORD_HEADER)?;
        let length = number(header, 8, self.is_big_endian) as usize;
        rest.split_at_checked(RECORD_HEADER.checked_add(length)?)
    }

    fn packet<'a>(&self, record: &'a [u8]) -> Option<Captured<'a>> {
        let number = |at| u64::from(number(record, at, self.is_big_endian));
        let ip = record.get(RECORD_HEADER + self.link_header..)?;
        let length = number(12).checked_sub(self.link_header as u64)?;
        Some(Captured {
            at: number(0) * 1_000_000_000 + number(4) * self.unit,
            size: Bytes::new(length + ETHERNET_HEADER as u64),
            content: content(ip)?,
        })
    }
}

fn number(bytes: &[u8], at: usize, is_big_endian: bool) -> u32 {
    let bytes = bytes[at..at + 4].try_into().expect("it is four bytes");
    if is_big_endian {
        u32::from_be_bytes(bytes)
    } else {
        u32::from_le_bytes(bytes)
    }
}

/// What is behind the headers of IP and of UDP or TCP.
fn content(ip: &[u8]) -> Option<&[u8]> {
    let first = *ip.first()?;
    let (header, protocol) = match first >> 4 {
        4 => (usize::from(first & 15) * 4, *ip.get(9)?),
        6 => (IPV6_HEADER, *ip.get(6)?),
        _ => return None,
    };
    let behind = ip.get(header..)?;
    let header = match protocol {
        UDP => 8,
        TCP => usize::from(behind.get(12)? >> 4) * 4,
        _ => 0,
    };
    behind.get(header..)
}

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// What a size at layer 2 has before the IP header.
const ETHERNET_HEADER: usize = 14;
const IPV6_HEADER: usize = 40;
const TCP: u8 = 6;
const UDP: u8 = 17;
const NANOS_PER_MILLI: u64 = 1_000_000;
/// Four days of 10 ms.
const MAX_STEPS: u64 = 1 << 25;
const NO_PACKETS: &str = "the capture has no IP packets";

#[cfg(test)]
mod tests {
    use super::*;

    /// A capture of UDP over IPv4, without Ethernet: time in microseconds, length, content.
    fn pcap(packets: &[(u32, u32, &[u8])]) -> Vec<u8> {
        let mut file = Vec::new();
        for number in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101_u32] {
            file.extend(number.to_le_bytes());
        }
        for (micros, length, content) in packets {
            let captured = 28 + content.len() as u32;
            for number in [micros / 1_000_000, micros % 1_000_000, captured, *length] {
                file.extend(number.to_le_bytes());
            }
            let mut ip = [0; 28];
            (ip[0], ip[9]) = (0x45, UDP);
            file.extend(ip);
            file.extend(*content);
        }
        file
    }

    #[test]
    fn packets_of_a_full_link_become_its_opportunities() {
        // 1,500 bytes of IP are 1,514 at layer 2, and two of 743 are one of those.
        let file = pcap(&[(5_000, 1_500, b""), (6_100, 743, b""), (9_900, 743, b"")]);
        let trace = Capture::parse(&file).unwrap().rate_trace().unwrap();
        assert_eq!(trace.opportunities(), [1, 5]);
    }

    #[test]
    fn the_end_is_kept_and_a_file_that_was_cut_ends_there() {
        let mut file = pcap(&[(0, 1_500, b""), (8_000, 100, b"abc")]);
        let trace = Capture::parse(&file).unwrap().rate_trace().unwrap();
        assert_eq!(trace.opportunities(), [1, 9]);
        file.truncate(file.len() - 1);
        let cut = Capture::parse(&file).unwrap().rate_trace().unwrap();
        assert_eq!(cut.opportunities(), [1]);
    }

    #[test]
    fn a_packet_is_recognized_on_both_sides_by_what_it_carries() {
        let sent = pcap(&[
            (0, 50, b"a"),
            (4_000, 50, b"b"),
            (11_000, 50, b"c"),
            (35_000, 50, b"d"),
        ]);
        // `e` came from the receiver, `b` was lost.
        let both = pcap(&[
            (9_000, 50, b"a"),
            (21_000, 50, b"e"),
            (31_000, 50, b"c"),
            (42_000, 50, b"d"),
        ]);
        let with_answer = [&sent[..], &pcap(&[(40_000, 50, b"e")])[FILE_HEADER..]].concat();
        let [sent, received] = [&with_answer, &both].map(|file| Capture::parse(file).unwrap());
        let delays = sent
            .delay_trace(&received, Duration::from_millis(10))
            .unwrap();
        assert_eq!(delays.delays(), [9, 20, 20, 7].map(Duration::from_millis));
        let losses = sent.loss_trace(&received).unwrap();
        assert_eq!(losses, LossTrace::parse("0100").unwrap());
    }

    #[test]
    fn what_is_no_capture_is_refused() {
        let mut radio = pcap(&[]);
        radio[20] = 127;
        for (bytes, says) in [
            (vec![], "shorter than its header"),
            (vec![b'1'; 40], "begins with 0x31313131"),
            (
                [&[0x0a, 0x0d, 0x0d, 0x0a][..], &[0; 20]].concat(),
                "editcap",
            ),
            (radio, "link type 127"),
        ] {
            let error = Capture::parse(&bytes).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        let empty = pcap(&[]);
        let empty = Capture::parse(&empty).unwrap();
        assert!(empty.rate_trace().unwrap_err().contains("no IP packets"));
        assert!(
            empty
                .loss_trace(&empty)
                .unwrap_err()
                .contains("no IP packets")
        );
    }
}
