//! What can be tuned: each mechanism can be switched off, which is how docs/paceline.md shows what
//! each is for.

use crate::params::tuning;

tuning! {
    /// The mechanisms that a connection may do without.
    pub(super) struct Tuning, PARAMS;
    make_good: switch(true),
        "send more where packets are lost at random, so that the estimate arrives", OURS;
    deep_listen: switch(true),
        "listen to every fourth Down at half of the estimate, to verify random loss", OURS;
    standing: switch(true),
        "excuse no loss beside a queue that stands, unless half of the rate loses as much", OURS;
    rank: switch(true),
        "infer a full queue from the rank of the RTTs beside lost packets", OURS;
    pairs: switch(true),
        "infer a full queue from losses of the second of two packets that leave together", OURS;
    trial: switch(true),
        "take a reduction back when it did not reduce the loss", OURS;
    trim: switch(true),
        "send less in Cruise while a queue lasts", OURS;
    lower: switch(true),
        "lower the estimate by as much as a queue grew in a round trip", OURS;
    hold: switch(true),
        "while the RTT rises send little more than what arrives", OURS;
    route: switch(true),
        "take an RTT that has stepped up and stays for a longer path", OURS;
    share_step: switch(true),
        "choose the step of Up by the flow's share of the bottleneck; off: 25 %", OURS;
}

const OURS: &str = "none: docs/paceline.md";
