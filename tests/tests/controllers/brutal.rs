//! Brutal on whole links: it holds its goodput against loss up to its floor, and does to others
//! what its documentation says.

use core::time::Duration;
use e2e::sim::{Flow, Scenario};

const TIME: Duration = Duration::from_secs(20);

fn mbits(delivered: u64) -> f64 {
    delivered as f64 * 8.0 / TIME.as_secs_f64() / 1e6
}

/// Goodput of 20 Mbit/s asked for over a link with room, in Mbit/s.
fn goodput(loss: &str) -> f64 {
    let outcome = Scenario::new(&format!("rate 50mbit delay 20ms {loss} queue 1bdp"))
        .return_link("delay 20ms")
        .flow(Flow::of("brutal:rate=20mbit"))
        .run_for(TIME);
    mbits(outcome.flow(0).delivered.get())
}

#[test]
fn random_loss_does_not_lower_the_goodput() {
    for loss in ["", "loss 1%", "loss 5%", "loss 10%"] {
        let goodput = goodput(loss);
        assert!((19.0..=20.1).contains(&goodput), "{loss}: {goodput}");
    }
}

#[test]
fn beyond_the_floor_of_the_ack_rate_it_does() {
    // 1.25 × 20 Mbit/s is all that is ever sent, and 60 % of it arrive.
    let goodput = goodput("loss 40%");
    assert!((13.5..=15.1).contains(&goodput), "{goodput}");
}

#[test]
fn it_takes_from_others_what_it_wants() {
    let outcome = Scenario::new("rate 25mbit delay 20ms queue 1bdp")
        .return_link("delay 20ms")
        .flow(Flow::of("cubic"))
        .flow(Flow::of("brutal:rate=20mbit"))
        .run_for(TIME);
    let [cubic, brutal] = [0, 1].map(|flow| mbits(outcome.flow(flow).delivered.get()));
    assert!(brutal > 19.0, "{brutal}");
    assert!(cubic < 5.0, "{cubic}");
}
