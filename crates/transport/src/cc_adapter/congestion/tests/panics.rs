//! Controllers that panic.

use super::*;

/// Panics in one of its methods.
#[derive(Debug)]
struct Clumsy(&'static str, Control);

impl Clumsy {
    fn choice(fault: &'static str) -> ControllerChoice {
        let build = move |_: &_, setup: &Setup| Self::boxed(fault, setup);
        let spec = ControllerSpec::sharing("clumsy", "", build);
        Registry::standard().with(spec).choose("clumsy").unwrap()
    }

    fn boxed(fault: &'static str, setup: &Setup) -> Box<dyn Controller> {
        let control = Control {
            cwnd: setup.initial_cwnd,
            pacing_rate: Bandwidth::MAX,
            send_quantum: setup.mss,
        };
        Box::new(Self(fault, control))
    }

    fn may_fail(&self, method: &str) {
        assert_ne!(method, self.0, "fault in {method}");
    }
}

impl Controller for Clumsy {
    fn on_sent(&mut self, path: &PathState, _: Bytes) {
        if path.delivered > Bytes::ZERO {
            self.may_fail("on_sent");
        }
    }

    fn on_lost(&mut self, _: &PathState, _: &LostPacket, _: &mut dyn Observer) {
        self.may_fail("on_lost");
    }

    fn on_ack(&mut self, _: &PathState, _: &RateSample, _: &mut dyn Observer) {
        self.may_fail("on_ack");
    }

    fn on_spurious_loss(&mut self, _: &PathState, _: &LostPacket, _: &mut dyn Observer) {
        self.may_fail("on_spurious_loss");
    }

    fn on_persistent_congestion(&mut self, _: &PathState, _: &mut dyn Observer) {
        self.may_fail("on_persistent_congestion");
    }

    fn control(&self) -> Control {
        self.1
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::new("clumsy", "", self.1)
    }
}

#[test]
fn a_panic_in_the_middle_of_a_batch_leaves_the_books_right() {
    for fault in [
        "on_lost",
        "on_ack",
        "on_sent",
        "on_spurious_loss",
        "on_persistent_congestion",
    ] {
        let mut scene = Scene::with(Clumsy::choice(fault));
        // Each sending, ACK and loss checks what is in flight.
        scene.send(0, 10);
        scene.ack(40, &[(9, 9), (3, 5)]);
        scene.send(41, 10);
        scene.ack(81, &[(15, 19), (0, 2)]);
        scene.send(2_000, 10);
        scene.send(4_000, 10);
        scene.ack(4_040, &[(36, 39)]);
        scene.settle(at(4_200));
        let panic = scene.congestion.take_panic().expect(fault);
        let expected = format!(
            "controller clumsy panicked: assertion `left != right` failed: fault in {fault}"
        );
        assert!(panic.starts_with(&expected), "{panic}");
        assert_eq!(scene.congestion.take_panic(), None);
        assert_eq!(scene.congestion.snapshot().algorithm, "new_reno");
        assert_eq!(scene.in_flight(), Bytes::ZERO);
    }
}
