//! A grammar of frames (RFC 9000 §19, RFC 9221, the ACK frequency draft): what a hostile peer
//! sends, valid or not, and with which errors it may be answered.

use paceline::Side;
use std::collections::VecDeque;
use units::Rng;

/// What a peer may not send: its name, a frame's type, its integers, what is behind them, and the
/// error that it is answered with.
pub(super) type Violation = (&'static str, u8, &'static [u64], &'static [u8], u64);

/// Error codes of RFC 9000 §20.1.
pub(super) const INTERNAL_ERROR: u64 = 0x1;
pub(super) const FLOW_CONTROL_ERROR: u64 = 0x3;
pub(super) const STREAM_LIMIT_ERROR: u64 = 0x4;
pub(super) const STREAM_STATE_ERROR: u64 = 0x5;
pub(super) const FINAL_SIZE_ERROR: u64 = 0x6;
pub(super) const FRAME_ENCODING_ERROR: u64 = 0x7;
pub(super) const TRANSPORT_PARAMETER_ERROR: u64 = 0x8;
pub(super) const CONNECTION_ID_LIMIT_ERROR: u64 = 0x9;
pub(super) const PROTOCOL_VIOLATION: u64 = 0xa;
pub(super) const CRYPTO_BUFFER_EXCEEDED: u64 = 0xd;
pub(super) const KEY_UPDATE_ERROR: u64 = 0xe;
/// The first of the TLS alerts, of which there are 256.
pub(super) const CRYPTO_ERROR: u64 = 0x100;

/// What data of a stream may be found to break. Too many gaps are an `INTERNAL_ERROR` of who
/// does not want to keep them.
const STREAM_ERRORS: &[u64] = &[
    FLOW_CONTROL_ERROR,
    STREAM_LIMIT_ERROR,
    STREAM_STATE_ERROR,
    FINAL_SIZE_ERROR,
    INTERNAL_ERROR,
];

/// Frames of one packet.
#[derive(Debug, Default)]
pub(super) struct Frames {
    pub(super) bytes: Vec<u8>,
    /// The errors that they may be answered with.
    pub(super) errors: Vec<u64>,
}

impl Frames {
    pub(super) fn add(&mut self, kind: u8, integers: &[u64], rest: &[u8]) {
        self.bytes.push(kind);
        for &integer in integers {
            put_integer(&mut self.bytes, integer);
        }
        self.bytes.extend_from_slice(rest);
    }
}

/// An integer of up to 62 bits in eight bytes (RFC 9000 §16).
pub(super) fn put_integer(bytes: &mut Vec<u8>, integer: u64) {
    bytes.extend((integer & MAX_INTEGER | 3 << 62).to_be_bytes());
}

/// Draws frames for one connection.
#[derive(Debug)]
pub(super) struct Grammar {
    rng: Rng,
    /// Whose frames they are.
    side: Side,
    /// Of the next connection ID that is announced.
    sequence: u64,
}

impl Grammar {
    pub(super) fn new(rng: Rng, side: Side) -> Self {
        Self {
            rng,
            side,
            sequence: 1,
        }
    }

    /// A packet's frames; `seen` are numbers of packets that have come from the peer.
    pub(super) fn packet(&mut self, seen: &VecDeque<u64>) -> Frames {
        let mut frames = Frames::default();
        for _ in 0..=self.rng.below(6) {
            let begin = frames.bytes.len();
            self.frame(&mut frames, seen);
            // Now and then as often as it fits.
            if self.rng.below(8) == 0 {
                let frame = frames.bytes.split_off(begin);
                let times = MAX_PAYLOAD.saturating_sub(begin) / frame.len().max(1);
                frames.bytes.extend(frame.repeat(times));
            }
        }
        let cut = match self.rng.below(40) {
            0 => 1 + self.rng.below(frames.bytes.len() as u64) as usize,
            _ => MAX_PAYLOAD,
        };
        if cut < frames.bytes.len() {
            frames.bytes.truncate(cut);
            frames.errors.push(FRAME_ENCODING_ERROR);
        }
        frames
    }

    /// Frames of a Handshake packet, of which few kinds are allowed (§12.4).
    pub(super) fn handshake_packet(&mut self) -> Frames {
        let mut frames = Frames::default();
        let none_seen = VecDeque::new();
        for _ in 0..=self.rng.below(4) {
            let errors: &[u64] = match self.rng.below(8) {
                0 => self.nothing(&mut frames),
                1 | 2 => self.ack(&mut frames, &none_seen),
                3..=5 => self.crypto(&mut frames),
                _ => {
                    self.frame(&mut frames, &none_seen);
                    &[PROTOCOL_VIOLATION]
                }
            };
            frames.errors.extend(errors);
        }
        frames
    }

    fn frame(&mut self, frames: &mut Frames, seen: &VecDeque<u64>) {
        let errors: &[u64] = match self.rng.below(20) {
            0 => self.nothing(frames),
            1 | 2 => self.ack(frames, seen),
            3..=6 => self.stream(frames),
            7 | 8 => self.end_of_stream(frames),
            9 | 10 => self.limit(frames),
            11 => self.blocked(frames),
            12 => self.path(frames),
            13 => self.new_connection_id(frames),
            14 => self.retire_connection_id(frames),
            15 => self.crypto(frames),
            16 => self.of_one_side(frames),
            17 => self.datagram(frames),
            18 => self.ack_frequency(frames),
            _ => self.rare(frames),
        };
        frames.errors.extend(errors);
    }

    fn nothing(&mut self, frames: &mut Frames) -> &'static [u64] {
        let kind = [PADDING, PING][self.rng.below(2) as usize];
        frames.add(kind, &[], &[]);
        &[]
    }

    /// Of packets that came, or that somebody claims to have come.
    fn ack(&mut self, frames: &mut Frames, seen: &VecDeque<u64>) -> &'static [u64] {
        let newest = seen.back().copied().unwrap_or(0);
        match self.rng.below(5) {
            0 if !seen.is_empty() => {
                let number = seen[self.rng.below(seen.len() as u64) as usize];
                frames.add(ACK, &[number, 0, 0, 0], &[]);
                &[]
            }
            1 if !seen.is_empty() => {
                let delay = self.integer();
                let counts = [self.integer(), self.integer(), self.integer()];
                let ack = [&[newest, delay, 0, 0][..], &counts].concat();
                frames.add(ACK_ECN, &ack, &[]);
                &[]
            }
            // Some numbers are left out on purpose, to find out who does this (§21.4).
            2 => {
                frames.add(ACK, &[newest, 0, 0, newest], &[]);
                &[PROTOCOL_VIOLATION]
            }
            3 => {
                let number = newest.saturating_add(1 + self.integer()).min(MAX_INTEGER);
                frames.add(ACK, &[number, 0, 0, 0], &[]);
                &[PROTOCOL_VIOLATION]
            }
            // Ranges below zero, and more of them than there are bytes.
            _ => {
                let ranges = [newest, 0, self.integer(), self.integer(), self.integer()];
                frames.add(ACK, &ranges, &[]);
                &[FRAME_ENCODING_ERROR, PROTOCOL_VIOLATION]
            }
        }
    }

    fn stream(&mut self, frames: &mut Frames) -> &'static [u64] {
        let (id, offset) = (self.stream_id(), self.offset());
        let data = vec![7; self.rng.below(120) as usize];
        let end = u8::from(self.rng.below(6) == 0);
        let integers = [id, offset, data.len() as u64];
        frames.add(STREAM | OFFSET | LENGTH | end, &integers, &data);
        match offset + data.len() as u64 > MAX_INTEGER {
            // §19.8 lets the receiver choose.
            true => &[
                FRAME_ENCODING_ERROR,
                FLOW_CONTROL_ERROR,
                STREAM_LIMIT_ERROR,
                STREAM_STATE_ERROR,
            ],
            false => STREAM_ERRORS,
        }
    }

    fn end_of_stream(&mut self, frames: &mut Frames) -> &'static [u64] {
        let (id, code) = (self.stream_id(), self.integer());
        match self.rng.below(2) {
            0 => {
                let size = self.offset();
                frames.add(RESET_STREAM, &[id, code, size], &[]);
                STREAM_ERRORS
            }
            _ => {
                frames.add(STOP_SENDING, &[id, code], &[]);
                &[STREAM_STATE_ERROR, STREAM_LIMIT_ERROR]
            }
        }
    }

    /// Larger, smaller than before, or beyond what can be.
    fn limit(&mut self, frames: &mut Frames) -> &'static [u64] {
        let value = self.integer();
        match self.rng.below(4) {
            0 => {
                frames.add(MAX_DATA, &[value], &[]);
                &[]
            }
            1 => {
                let id = self.stream_id();
                frames.add(MAX_STREAM_DATA, &[id, value], &[]);
                &[STREAM_STATE_ERROR, STREAM_LIMIT_ERROR]
            }
            kind => {
                frames.add(MAX_STREAMS_BIDI + kind as u8 % 2, &[value], &[]);
                match value > MAX_STREAMS {
                    true => &[FRAME_ENCODING_ERROR],
                    false => &[],
                }
            }
        }
    }

    fn blocked(&mut self, frames: &mut Frames) -> &'static [u64] {
        let value = self.integer();
        match self.rng.below(4) {
            0 => {
                frames.add(DATA_BLOCKED, &[value], &[]);
                &[]
            }
            1 => {
                let id = self.stream_id();
                frames.add(STREAM_DATA_BLOCKED, &[id, value], &[]);
                &[STREAM_STATE_ERROR, STREAM_LIMIT_ERROR]
            }
            kind => {
                frames.add(STREAMS_BLOCKED_BIDI + kind as u8 % 2, &[value], &[]);
                match value > MAX_STREAMS {
                    true => &[FRAME_ENCODING_ERROR, STREAM_LIMIT_ERROR],
                    false => &[],
                }
            }
        }
    }

    fn path(&mut self, frames: &mut Frames) -> &'static [u64] {
        let data = self.rng.next_u64().to_be_bytes();
        let kind = [PATH_CHALLENGE, PATH_RESPONSE][self.rng.below(2) as usize];
        frames.add(kind, &[], &data);
        match kind {
            // §19.18: an answer to no question may be one.
            PATH_RESPONSE => &[PROTOCOL_VIOLATION],
            _ => &[],
        }
    }

    /// The next one or the same again, which retires none, those before it, or more than there are.
    fn new_connection_id(&mut self, frames: &mut Frames) -> &'static [u64] {
        let sequence = match self.rng.below(4) {
            0 => self.integer(),
            1 => self.rng.below(self.sequence + 1),
            _ => self.sequence,
        };
        self.sequence = (sequence + 1).min(MAX_INTEGER).max(self.sequence);
        let retire = match self.rng.below(4) {
            0 => sequence,
            1 => self.integer(),
            2 => sequence.saturating_sub(self.rng.below(4)),
            _ => 0,
        };
        let length = match self.rng.below(8) {
            0 => self.rng.below(256) as u8,
            _ => 8,
        };
        let mut rest = vec![length];
        let number = [length, sequence as u8].repeat(128);
        rest.extend(&number[..usize::from(length)]);
        rest.extend([sequence as u8; 16]);
        frames.add(NEW_CONNECTION_ID, &[sequence, retire], &rest);
        &[
            FRAME_ENCODING_ERROR,
            CONNECTION_ID_LIMIT_ERROR,
            PROTOCOL_VIOLATION,
        ]
    }

    fn retire_connection_id(&mut self, frames: &mut Frames) -> &'static [u64] {
        let sequence = match self.rng.below(3) {
            0 => self.integer(),
            _ => self.rng.below(8),
        };
        frames.add(RETIRE_CONNECTION_ID, &[sequence], &[]);
        &[PROTOCOL_VIOLATION]
    }

    /// Messages of a handshake that are none.
    fn crypto(&mut self, frames: &mut Frames) -> &'static [u64] {
        let offset = match self.rng.below(2) {
            0 => 0,
            _ => self.integer(),
        };
        let data: Vec<u8> = (0..self.rng.below(200))
            .map(|_| self.rng.next_u64() as u8)
            .collect();
        frames.add(CRYPTO, &[offset, data.len() as u64], &data);
        &[
            CRYPTO_ERROR,
            CRYPTO_BUFFER_EXCEEDED,
            FRAME_ENCODING_ERROR,
            PROTOCOL_VIOLATION,
            INTERNAL_ERROR,
        ]
    }

    /// What servers alone may send.
    fn of_one_side(&mut self, frames: &mut Frames) -> &'static [u64] {
        let token = vec![5; self.rng.below(40) as usize];
        let is_token = self.rng.below(2) == 0;
        match is_token {
            true => frames.add(NEW_TOKEN, &[token.len() as u64], &token),
            false => frames.add(HANDSHAKE_DONE, &[], &[]),
        }
        match (self.side, is_token && token.is_empty()) {
            (Side::Client, false) => &[PROTOCOL_VIOLATION],
            (Side::Client, true) => &[PROTOCOL_VIOLATION, FRAME_ENCODING_ERROR],
            (Side::Server, true) => &[FRAME_ENCODING_ERROR],
            (Side::Server, false) => &[],
        }
    }

    fn datagram(&mut self, frames: &mut Frames) -> &'static [u64] {
        let data = vec![9; self.rng.below(400) as usize];
        frames.add(DATAGRAM, &[data.len() as u64], &data);
        &[]
    }

    fn ack_frequency(&mut self, frames: &mut Frames) -> &'static [u64] {
        let values = [0; 4].map(|_| self.integer());
        match self.rng.below(2) {
            0 => frames.add(IMMEDIATE_ACK, &[], &[]),
            _ => {
                frames.add(ACK_FREQUENCY[0], &[], &ACK_FREQUENCY[1..]);
                for value in values {
                    put_integer(&mut frames.bytes, value);
                }
            }
        }
        // §3 of the draft: also where it was not negotiated.
        &[PROTOCOL_VIOLATION, FRAME_ENCODING_ERROR]
    }

    /// Types that nobody knows, lengths beyond the packet, and the end.
    fn rare(&mut self, frames: &mut Frames) -> &'static [u64] {
        match self.rng.below(12) {
            0..4 => {
                frames.add(0x21 + self.rng.below(0x0e) as u8, &[], &[]);
                &[FRAME_ENCODING_ERROR]
            }
            4..8 => {
                let (id, length) = (self.stream_id(), 2_000 + self.integer());
                frames.add(STREAM | LENGTH, &[id, length], &[]);
                &[FRAME_ENCODING_ERROR]
            }
            // The type of PING, longer than it has to be (§12.4).
            8..11 => {
                frames.add(0x40, &[], &[PING]);
                &[PROTOCOL_VIOLATION]
            }
            _ => {
                let reason = [b'x'; 60];
                let integers = [self.integer(), 0, reason.len() as u64];
                frames.add(CONNECTION_CLOSE, &integers, &reason);
                &[]
            }
        }
    }

    /// Of any of the four kinds, of few streams mostly.
    fn stream_id(&mut self) -> u64 {
        let index = match self.rng.below(8) {
            0 => self.integer() >> 2,
            1 => 98 + self.rng.below(4),
            _ => self.rng.below(6),
        };
        index << 2 | self.rng.below(4)
    }

    fn offset(&mut self) -> u64 {
        match self.rng.below(3) {
            0 => self.integer(),
            _ => self.rng.below(5_000),
        }
    }

    /// At the edges of what is something else.
    fn integer(&mut self) -> u64 {
        match self.rng.below(3) {
            0 => self.rng.below(20),
            1 => EDGES[self.rng.below(EDGES.len() as u64) as usize],
            _ => self.rng.next_u64() & MAX_INTEGER >> self.rng.below(62),
        }
    }
}

pub(super) const PADDING: u8 = 0x00;
pub(super) const PING: u8 = 0x01;
pub(super) const ACK: u8 = 0x02;
pub(super) const ACK_ECN: u8 = 0x03;
pub(super) const RESET_STREAM: u8 = 0x04;
pub(super) const STOP_SENDING: u8 = 0x05;
pub(super) const CRYPTO: u8 = 0x06;
pub(super) const NEW_TOKEN: u8 = 0x07;
pub(super) const STREAM: u8 = 0x08;
/// Bits of a STREAM frame's type.
pub(super) const OFFSET: u8 = 0x04;
pub(super) const LENGTH: u8 = 0x02;
pub(super) const FIN: u8 = 0x01;
pub(super) const MAX_DATA: u8 = 0x10;
pub(super) const MAX_STREAM_DATA: u8 = 0x11;
pub(super) const MAX_STREAMS_BIDI: u8 = 0x12;
pub(super) const DATA_BLOCKED: u8 = 0x14;
pub(super) const STREAM_DATA_BLOCKED: u8 = 0x15;
pub(super) const STREAMS_BLOCKED_BIDI: u8 = 0x16;
pub(super) const NEW_CONNECTION_ID: u8 = 0x18;
pub(super) const RETIRE_CONNECTION_ID: u8 = 0x19;
pub(super) const PATH_CHALLENGE: u8 = 0x1a;
pub(super) const PATH_RESPONSE: u8 = 0x1b;
pub(super) const CONNECTION_CLOSE: u8 = 0x1c;
pub(super) const HANDSHAKE_DONE: u8 = 0x1e;
pub(super) const IMMEDIATE_ACK: u8 = 0x1f;
/// With its length.
pub(super) const DATAGRAM: u8 = 0x31;
/// A type of two bytes.
const ACK_FREQUENCY: [u8; 2] = [0x40, 0xaf];

pub(super) const MAX_INTEGER: u64 = (1 << 62) - 1;
/// As many as IDs have room for (§4.6).
pub(super) const MAX_STREAMS: u64 = 1 << 60;

/// Bytes of frames in a packet that every path carries.
const MAX_PAYLOAD: usize = 1_100;

/// Where the encoding gets longer, limits of configurations, and what cannot be more.
const EDGES: [u64; 14] = [
    63,
    64,
    100,
    4_096,
    16_383,
    16_384,
    65_536,
    1 << 20,
    (1 << 30) - 1,
    1 << 30,
    MAX_STREAMS,
    MAX_STREAMS + 1,
    MAX_INTEGER - 1,
    MAX_INTEGER,
];
