use super::outcome::{Outcome, Packets, Point};
use super::world::World;
use core::time::Duration;
use link_sim::LinkSpec;
use units::Timestamp;

/// A run under way, which is taken further piece by piece: [`Scenario::start`].
///
/// In whatever pieces it is taken, the same happens at the same times.
///
/// ```
/// use core::time::Duration;
/// use flow_sim::{Flow, Scenario};
/// use units::Timestamp;
///
/// let scenario = Scenario::new("rate 10mbit delay 10ms queue 1bdp").flow(Flow::of("cubic"));
/// let mut run = scenario.start();
/// run.advance(Timestamp::from_millis(5_000));
/// let slower = "rate 2mbit delay 10ms queue 1bdp".parse()?;
/// run.change(Scenario::LINK, &slower, Duration::from_millis(10));
/// run.advance(Timestamp::from_millis(6_000));
/// let before = run.point(0).delivered;
/// run.advance(Timestamp::from_millis(7_000));
/// let a_second = run.point(0).delivered - before;
/// assert!((150_000..250_000).contains(&a_second.get()), "{a_second}");
/// # Ok::<(), link_sim::SpecError>(())
/// ```
///
/// [`Scenario::start`]: super::scenario::Scenario::start
#[derive(Debug)]
pub struct Run {
    world: World,
    seed: u64,
}

impl Run {
    pub(crate) fn new(world: World, seed: u64) -> Self {
        Self { world, seed }
    }

    /// The moment up to which everything has happened: that of the last event, once nothing is left
    /// to happen.
    pub fn now(&self) -> Timestamp {
        self.world.now()
    }

    /// Lets everything happen that happens up to `time`. A time that has passed changes nothing.
    pub fn advance(&mut self, time: Timestamp) {
        self.world.advance(time);
    }

    /// Lets happen what happens up to `limit`, but stops as soon as a flow has sent, received or
    /// lost packets or had them acknowledged. Returns whether one has; [`packets`](Self::packets)
    /// tells which. A burst that leaves at once is one step.
    pub fn step(&mut self, limit: Timestamp) -> bool {
        self.world.step(limit)
    }

    /// The link called `name` becomes another one; what is inside stays. A queue in `bdp` is one of
    /// `base_rtt`. Returns whether there is a link of this name.
    pub fn change(&mut self, name: &str, link: &LinkSpec, base_rtt: Duration) -> bool {
        self.world.change(name, link, base_rtt)
    }

    /// How many flows there are; they have the order of the scenario.
    pub fn flows(&self) -> usize {
        self.world.flow_count()
    }

    /// The flow of this index as it is at this moment.
    ///
    /// # Panics
    /// As each method with an index: when there is no such flow.
    pub fn point(&self, flow: usize) -> Point {
        self.world.point(flow)
    }

    /// What has become of its packets so far.
    pub fn packets(&self, flow: usize) -> Packets {
        self.world.packets(flow)
    }

    /// Its series since this was called last. What is taken is not in the [`Outcome`].
    pub fn take_points(&mut self, flow: usize) -> Vec<Point> {
        self.world.take_points(flow)
    }

    /// Ends the run.
    ///
    /// # Panics
    /// When the books do not balance.
    pub fn finish(self) -> Outcome {
        self.world.finish(self.seed)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Flow, Packets, Scenario};
    use core::time::Duration;
    use units::Timestamp;

    fn scenario() -> Scenario {
        Scenario::new("rate 10mbit delay 10ms 1ms loss 1% queue 1bdp")
            .return_link("delay 10ms")
            .change_link(
                Duration::from_millis(2_500),
                "rate 5mbit delay 10ms queue 1bdp",
            )
            .flow(Flow::of("paceline"))
            .flow(Flow::of("cubic").start(Duration::from_millis(730)))
    }

    #[test]
    fn a_run_in_pieces_is_the_run_at_once() {
        let at_once = scenario().run_for(Duration::from_secs(4));
        let mut run = scenario().start();
        for millis in [1, 99, 100, 731, 2_500, 2_501, 4_000] {
            run.advance(Timestamp::from_millis(millis));
            assert!(run.now() <= Timestamp::from_millis(millis));
        }
        let in_pieces = run.finish();
        for (one, other) in at_once.flows.iter().zip(&in_pieces.flows) {
            assert_eq!(one.points, other.points);
            assert_eq!(one.states, other.states);
            assert_eq!(one.packets_sent, other.packets_sent);
        }
    }

    #[test]
    fn steps_go_from_one_packet_to_the_next_and_miss_none() {
        let limit = Timestamp::from_millis(3_000);
        let mut run = scenario().start();
        let mut before = Packets::default();
        while run.step(limit) {
            let now = run.packets(0);
            assert!(now.received - before.received <= 1, "{before:?} {now:?}");
            assert!(now.sent - before.sent <= 10, "a burst: {before:?} {now:?}");
            before = now;
        }
        assert_eq!(run.now(), limit);
        let mut at_once = scenario().start();
        at_once.advance(limit);
        assert_eq!(run.packets(0), at_once.packets(0));
        assert_eq!(run.packets(1), at_once.packets(1));
        assert_eq!(run.take_points(1), at_once.take_points(1));
    }

    #[test]
    fn a_link_that_there_is_not_is_not_changed() {
        let mut run = scenario().start();
        let link = "rate 1mbit".parse().expect("a link");
        let base_rtt = Duration::from_millis(20);
        assert!(!run.change("nowhere", &link, base_rtt));
        assert!(run.change(Scenario::LINK, &link, base_rtt));
    }
}
