use super::*;
use units::Rng;

fn at(micros: u64) -> Timestamp {
    Timestamp::from_nanos(micros * 1_000)
}

/// A receiver that has what the buffer hands on; packets are their numbers and when they came.
struct Receiver {
    buffer: ReorderBuffer<(u64, Timestamp)>,
    newest: u64,
    taken: Vec<Taken>,
    /// Those that quinn-proto would have dropped.
    dropped: Vec<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Taken {
    number: u64,
    came: Timestamp,
    handed_on: Timestamp,
}

impl Receiver {
    fn new() -> Self {
        Self {
            buffer: ReorderBuffer::new(at(0)),
            newest: 0,
            taken: Vec::new(),
            dropped: Vec::new(),
        }
    }

    fn receive(&mut self, now: Timestamp, number: u64) {
        self.receive_sized(now, number, 1_452);
    }

    fn receive_sized(&mut self, now: Timestamp, number: u64, bytes: usize) {
        self.buffer.on_arrival(now, number, self.newest);
        if self.buffer.is_early(now, number, self.newest) {
            self.buffer.push(number, bytes, (number, now));
        } else {
            while number > self.newest
                && let Some(older) = self.buffer.pop_before(number)
            {
                self.take(now, older);
            }
            self.take(now, (number, now));
        }
        self.expire(now);
    }

    fn expire(&mut self, now: Timestamp) {
        while let Some(packet) = self.buffer.pop(now, self.newest) {
            self.take(now, packet);
        }
    }

    fn take(&mut self, now: Timestamp, (number, came): (u64, Timestamp)) {
        if self.newest > number + 128 {
            self.dropped.push(number);
        }
        self.newest = self.newest.max(number);
        self.taken.push(Taken {
            number,
            came,
            handed_on: now,
        });
    }

    fn deadline(&self, now: Timestamp) -> Option<Timestamp> {
        self.buffer.deadline(now, self.newest)
    }

    /// Has packet 1 come 10 ms after packets 2 to 201, after which there is nothing missing.
    fn learning_ten_ms() -> Self {
        let mut receiver = Self::new();
        (2..=201).for_each(|number| receiver.receive(at(0), number));
        receiver.receive(at(10_000), 1);
        assert_eq!(receiver.dropped, [1]);
        receiver
    }

    fn held(&self) -> usize {
        self.buffer.held.len()
    }
}

#[test]
fn without_a_packet_that_came_too_late_nothing_is_held() {
    let mut receiver = Receiver::new();
    // A tenth is lost, and some of the rest is late by less than quinn-proto bears.
    for number in (0..5_000u64).filter(|number| number % 10 != 3) {
        let number = if number % 100 < 50 {
            number
        } else {
            number ^ 32
        };
        receiver.receive(at(number * 100), number);
        assert_eq!(receiver.held(), 0);
    }
}

#[test]
fn what_is_early_waits_until_the_missing_packet_comes() {
    let mut receiver = Receiver::learning_ten_ms();
    // 202 is missing.
    (203..=500).for_each(|number| receiver.receive(at(20_000), number));
    assert_eq!(receiver.newest, 202 + AHEAD);
    assert_eq!(receiver.held(), 500 - 202 - 126);
    receiver.receive(at(25_000), 202);
    assert_eq!((receiver.newest, receiver.held()), (500, 0));
    assert_eq!(receiver.dropped, [1]);
}

#[test]
fn what_is_lost_is_waited_for_as_long_as_the_lateness() {
    let mut receiver = Receiver::learning_ten_ms();
    (203..=500).for_each(|number| receiver.receive(at(20_000), number));
    assert_eq!(receiver.deadline(at(20_000)), Some(at(30_000)));
    receiver.expire(at(29_999));
    assert_eq!(receiver.newest, 202 + AHEAD);
    receiver.expire(at(30_000));
    assert_eq!(receiver.newest, 500);
    assert_eq!(receiver.deadline(at(30_000)), None);
}

#[test]
fn each_gap_is_waited_for_from_its_own_beginning() {
    let mut receiver = Receiver::learning_ten_ms();
    receiver.receive(at(20_000), 203);
    (205..=500).for_each(|number| receiver.receive(at(24_000), number));
    receiver.expire(at(30_000));
    // 202 is given up, 204 is not.
    assert_eq!(receiver.newest, 204 + AHEAD);
    assert_eq!(receiver.deadline(at(30_000)), Some(at(34_000)));
}

#[test]
fn a_lateness_is_forgotten_after_two_periods() {
    let mut receiver = Receiver::learning_ten_ms();
    for number in 202..230 {
        receiver.receive(at(number * 100_000), number);
    }
    assert!(receiver.buffer.is_idle(at(23_000_000)));
    receiver.receive(at(23_000_000), 1_000);
    receiver.receive(at(23_000_000), 5_000);
    assert_eq!(receiver.held(), 0);
}

#[test]
fn copies_of_a_packet_are_held_like_it() {
    let mut receiver = Receiver::learning_ten_ms();
    receiver.receive(at(20_000), 400);
    receiver.receive(at(20_000), 400);
    assert_eq!((receiver.held(), receiver.newest), (2, 201));
    receiver.expire(at(30_000));
    let copy = Taken {
        number: 400,
        came: at(20_000),
        handed_on: at(30_000),
    };
    assert!(receiver.taken.ends_with(&[copy; 2]));
}

#[test]
fn what_is_ahead_by_more_than_could_be_held_is_not() {
    let mut receiver = Receiver::learning_ten_ms();
    receiver.receive(at(20_000), 201 + MAX_JUMP + 1);
    assert_eq!(receiver.held(), 0);
    assert_eq!(receiver.newest, 201 + MAX_JUMP + 1);
}

#[test]
fn beyond_its_bounds_the_oldest_are_handed_on() {
    let mut receiver = Receiver::learning_ten_ms();
    for number in 0..3 * MAX_HELD as u64 {
        receiver.receive_sized(at(20_000), 203 + number, 100);
        assert!(receiver.held() <= MAX_HELD);
    }
    assert!(receiver.taken[201..].is_sorted_by_key(|taken| taken.number));
    let mut receiver = Receiver::learning_ten_ms();
    let mut most = 0;
    for number in 0..1_000 {
        receiver.receive_sized(at(20_000), 203 + number, 65_000);
        assert!(receiver.buffer.bytes <= MAX_BYTES);
        most = most.max(receiver.held());
    }
    assert_eq!(most, MAX_BYTES / 65_000);
}

#[test]
fn gaps_are_bounded() {
    let mut receiver = Receiver::learning_ten_ms();
    for number in 0..10_000 {
        receiver.receive(at(20_000), 203 + 2 * number);
        assert!(receiver.buffer.gaps.len() <= MAX_GAPS);
    }
    for number in 0..10_000 {
        receiver.buffer.fill(203 + 3 * number);
        assert!(receiver.buffer.gaps.len() <= MAX_GAPS);
    }
}

#[test]
fn gaps_are_what_has_not_come() {
    let mut rng = Rng::new(1);
    for _ in 0..100 {
        let mut buffer = ReorderBuffer::<u64>::new(at(0));
        let mut came = [false; 300];
        came[0] = true;
        for _ in 0..200 {
            let number = rng.below(300);
            buffer.on_arrival(at(0), number, 0);
            came[number as usize] = true;
        }
        let missing = buffer.gaps.iter().flat_map(|gap| gap.first..gap.end);
        let expected = (0..buffer.next).filter(|number| !came[*number as usize]);
        assert!(missing.eq(expected));
    }
}

/// Whatever comes, each packet is handed on once, and none is held for longer than what has been
/// learnt, which is at most `MAX_LATENESS`.
#[test]
fn nothing_is_held_for_longer_than_the_greatest_lateness() {
    let mut rng = Rng::new(2);
    for _ in 0..50 {
        let mut receiver = Receiver::learning_ten_ms();
        let (mut now, mut base) = (20_000, 300);
        let spread = 1 << rng.below(14);
        for _ in 0..3_000 {
            now += rng.below(400);
            base += rng.below(3);
            receiver.expire(at(now));
            let number = base + rng.below(spread);
            receiver.receive(at(now), number);
        }
        let mut now = at(now);
        while let Some(deadline) = receiver.deadline(now) {
            now = deadline;
            receiver.expire(now);
        }
        assert_eq!(receiver.held(), 0);
        assert_eq!(receiver.taken.len(), 201 + 3_000);
        for taken in &receiver.taken[201..] {
            let waited = taken.handed_on.since(taken.came);
            assert!(
                waited <= MAX_LATENESS + Duration::from_millis(1),
                "{taken:?}"
            );
        }
    }
}
