use super::op::{ALL, NONE, Op, Rtt, Which};
use super::subject::Subject;
use cc_core::{ParamSpec, Range, Registry, ResumePlan, SavedPath, Setup, Value};
use core::time::Duration;
use units::{Bandwidth, Bytes, Gain, Timestamp};

/// Bytes that are read as whatever is needed next; there are zeros behind them.
pub(crate) struct Input<'a> {
    rest: &'a [u8],
    /// Round-trip time of the path, as long as it stays the same one.
    rtt: Duration,
}

impl<'a> Input<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self {
            rest: data,
            rtt: Duration::from_millis(40),
        }
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else {
            return 0;
        };
        self.rest = rest;
        *first
    }

    /// Sixteen bits.
    pub(crate) fn number(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// A controller of the standard registry, half of the time at its defaults.
    pub(crate) fn subject(&mut self) -> Subject {
        let registry = Registry::standard();
        let specs = registry.specs();
        let spec = &specs[usize::from(self.byte()) % specs.len()];
        let is_default = self.byte().is_multiple_of(2);
        let params = spec.params.iter().map(|param| {
            let is_kept = is_default || self.byte().is_multiple_of(2);
            let value = if is_kept {
                param.default
            } else {
                self.value(param)
            };
            (param.name, value)
        });
        let params = params.collect();
        Subject::new(spec.name, params, self.setup())
    }

    /// A capacity of up to a terabyte, a round-trip time that is that of the path half of the time,
    /// and any end.
    pub(crate) fn resume_plan(&mut self) -> ResumePlan {
        let kind = self.byte();
        let capacity = Bytes::new(u64::from(self.number()) << (self.byte() % 25));
        let min_rtt = if kind & 1 == 0 {
            self.rtt
        } else {
            self.time(30)
        };
        let end = if kind & 6 == 6 {
            Timestamp::ZERO + self.time(30)
        } else {
            Timestamp::MAX
        };
        let mut plan = ResumePlan::new(SavedPath { capacity, min_rtt }, end);
        if kind & 24 == 24 {
            plan.max_jump = Bytes::new(u64::from(self.number()) << 4);
        }
        plan
    }

    fn setup(&mut self) -> Setup {
        let now = Timestamp::ZERO + self.time(30);
        let mss = Bytes::new(u64::from(MSS[usize::from(self.byte()) % MSS.len()]));
        let mut setup = Setup::new(now, mss, self.byte().into());
        let kind = self.byte();
        setup.sends_ect1 = kind & 1 == 1;
        // A controller that takes a running connection over.
        if kind & 6 == 6 {
            setup.initial_cwnd = mss * (2 + u64::from(self.byte()));
            setup.srtt = Some(self.time(20).max(Duration::from_micros(1)));
        }
        setup
    }

    /// A value within the range of the parameter, small ones as often as large ones.
    fn value(&mut self, param: &ParamSpec) -> Value {
        match (param.range, param.default) {
            (Range::OneOf(words), _) => Value::Word(words[usize::from(self.byte()) % words.len()]),
            (Range::Between(low, high), _) => {
                let (least, most) = (raw(low), raw(high));
                let offset = match self.byte() {
                    0..=15 => 0,
                    16..=31 => most - least,
                    kind => {
                        let span = u128::from((most - least) >> (kind % 32));
                        ((span * u128::from(self.number())) >> 16) as u64
                    }
                };
                of_raw(least + offset, low)
            }
            (Range::Any, Value::Switch(_)) => Value::Switch(self.byte().is_multiple_of(2)),
            (Range::Any, default) => default,
        }
    }

    /// From nothing to 65 µs, doubled up to `doublings` times: 19 hours with 30.
    pub(crate) fn time(&mut self, doublings: u8) -> Duration {
        let doublings = self.byte() % (doublings + 1);
        Duration::from_nanos(u64::from(self.number()) << doublings)
    }

    /// All that the rest of the bytes says.
    pub(crate) fn ops(&mut self) -> Vec<Op> {
        let mut ops = Vec::new();
        while !self.is_empty() && (ops.len() as u64) < MAX_OPS {
            self.step(&mut ops);
        }
        ops
    }

    fn step(&mut self, ops: &mut Vec<Op>) {
        let op = match self.byte() % 32 {
            0..=4 => Op::Fill,
            5 | 6 => Op::Send {
                packets: self.byte(),
                bytes: self.number().max(1),
            },
            7 | 8 => Op::Wait(self.time(14)),
            9 => Op::Wait(self.time(30)),
            10..=13 => self.feedback(),
            14 => Op::ack(Which::Share(self.byte())),
            15 => Op::ack(ALL),
            16 => Op::ArriveLate(self.byte()),
            17 => Op::Mtu(MIN_MTU.saturating_add(self.number())),
            18 => Op::AppLimited,
            19 => Op::Discard(self.byte()),
            20 => Op::Forget(self.byte()),
            21 => Op::GoBack(self.time(20)),
            22 => Op::ChangeController,
            23 => {
                self.rtt = self.time(16);
                Op::Wait(self.rtt)
            }
            24 => {
                self.rtt = self.time(30);
                Op::Wait(self.rtt)
            }
            25 => return self.pause(ops),
            26 => Op::SendsEct1(self.byte().is_multiple_of(2)),
            _ => return self.rounds(ops),
        };
        ops.push(op);
    }

    fn feedback(&mut self) -> Op {
        let kind = self.byte();
        let acked = match kind & 3 {
            0 => NONE,
            1 => Which::Share(self.byte()),
            _ => self.bits(),
        };
        let lost = match kind >> 2 & 3 {
            0 | 1 => NONE,
            2 => Which::Share(self.byte()),
            _ => self.bits(),
        };
        let rtt = match kind >> 4 & 3 {
            0 | 1 => Rtt::Exact,
            2 => Rtt::Half,
            _ => Rtt::Unknown,
        };
        Op::Feedback {
            acked,
            lost,
            rtt,
            ce_marked: if kind >> 6 == 0 { self.byte() } else { 0 },
            is_persistent: kind >> 6 == 1,
        }
    }

    fn bits(&mut self) -> Which {
        let mut bits = [0; 8];
        bits.fill_with(|| self.byte());
        Which::Bits(u64::from_le_bytes(bits))
    }

    /// Everything is acknowledged, and for a second or more nothing is sent.
    fn pause(&mut self, ops: &mut Vec<Op>) {
        let pause = Duration::from_secs(1) + self.time(20);
        let (rtt, packet) = (self.rtt, ONE_PACKET);
        ops.extend([Op::Wait(rtt), Op::ack(ALL), Op::AppLimited, Op::Wait(pause)]);
        ops.extend([packet, Op::Wait(rtt), Op::ack(ALL)]);
    }

    /// Round trips of one kind, so that a controller gets somewhere.
    fn rounds(&mut self, ops: &mut Vec<Op>) {
        let (count, kind) = (self.byte() % 16 + 1, self.byte());
        let little = Op::Send {
            packets: self.byte() % 16 + 1,
            bytes: u16::MAX,
        };
        let chunks = [1, 2, 4, 8][usize::from(kind >> 6)];
        for _ in 0..count {
            match kind & 3 {
                // Limited by the application, or by flow control, of which nobody is told.
                0 => ops.extend([little.clone(), Op::AppLimited]),
                1 => ops.push(little.clone()),
                _ => ops.push(Op::Fill),
            }
            ops.push(Op::Wait(self.rtt));
            if kind & 4 != 0 {
                ops.push(self.feedback());
            }
            for left in (1..=chunks).rev() {
                ops.push(Op::ack(Which::Share((255_u16 / left) as u8)));
                if kind & 8 != 0 {
                    ops.extend([Op::Wait(self.rtt / 16), Op::Fill]);
                }
            }
        }
    }
}

/// A value's number in its smallest unit.
fn raw(value: Value) -> u64 {
    match value {
        Value::Gain(gain) => gain.millionths(),
        Value::Duration(time) => units::duration::nanos(time),
        Value::Bytes(bytes) => bytes.get(),
        Value::Bandwidth(rate) => rate.bytes_per_sec(),
        Value::Count(count) => count,
        Value::Switch(_) | Value::Word(_) => panic!("{value} is no end of a range"),
    }
}

/// The value of this number and of the kind of `like`.
fn of_raw(number: u64, like: Value) -> Value {
    match like {
        Value::Gain(_) => Value::Gain(Gain::from_millionths(number)),
        Value::Duration(_) => Value::Duration(Duration::from_nanos(number)),
        Value::Bytes(_) => Value::Bytes(Bytes::new(number)),
        Value::Bandwidth(_) => Value::Bandwidth(Bandwidth::from_bytes_per_sec(number)),
        Value::Count(_) => Value::Count(number),
        Value::Switch(_) | Value::Word(_) => like,
    }
}

const ONE_PACKET: Op = Op::Send {
    packets: 1,
    bytes: u16::MAX,
};
/// Packet sizes to begin with: QUIC's least (RFC 9000 §14.1), Ethernet's, jumbo frames', the most.
const MSS: [u16; 4] = [1_200, 1_472, 8_972, 65_527];
const MIN_MTU: u16 = 1_200;
/// Bounds what one input takes.
pub(crate) const MAX_OPS: u64 = 6_000;
