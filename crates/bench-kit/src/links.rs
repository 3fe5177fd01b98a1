//! The words of a link, for people.

/// A word of the grammar of [`LinkSpec`](link_sim::LinkSpec).
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinkWord {
    /// How it is written.
    pub(crate) form: &'static str,
    /// What it does.
    pub(crate) meaning: &'static str,
    /// A link with it.
    pub(crate) example: &'static str,
}

/// All words, in the order in which links print them.
pub(crate) const LINK_WORDS: [LinkWord; 9] = [
    LinkWord {
        form: "delay TIME [JITTER [distribution NAME]] [ordered]",
        meaning: "propagation; jitter reorders unless `ordered`; NAME is uniform, normal, pareto \
                  or paretonormal",
        example: "delay 20ms 5ms distribution normal",
    },
    LinkWord {
        form: "loss P%",
        meaning: "independent random loss",
        example: "loss 1%",
    },
    LinkWord {
        form: "loss gemodel P% [R% [1-H% [1-K%]]]",
        meaning: "bursts of loss (Gilbert-Elliott): good to bad, bad to good, loss in each",
        example: "loss gemodel 1% 25%",
    },
    LinkWord {
        form: "duplicate P%",
        meaning: "a second copy follows",
        example: "duplicate 0.1%",
    },
    LinkWord {
        form: "reorder P% [gap N]",
        meaning: "sent at once instead of delayed",
        example: "delay 20ms reorder 1% gap 5",
    },
    LinkWord {
        form: "rate RATE",
        meaning: "bottleneck, in bits per second with headers",
        example: "rate 100mbit",
    },
    LinkWord {
        form: "limit PACKETS",
        meaning: "at most so many packets inside, the delay's included",
        example: "limit 1000",
    },
    LinkWord {
        form: "queue Nbdp|Np|SIZE",
        meaning: "drop-tail queue before the bottleneck: multiples of rate x base RTT, packets or \
                  bytes",
        example: "delay 40ms rate 100mbit queue 1bdp",
    },
    LinkWord {
        form: "seed N",
        meaning: "random numbers of its own",
        example: "loss 1% seed 7",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use link_sim::LinkSpec;

    #[test]
    fn every_example_is_a_link() {
        for word in LINK_WORDS {
            let link = word.example.parse::<LinkSpec>();
            assert!(link.is_ok(), "{}: {link:?}", word.example);
            assert!(word.example.contains(word.form.split(' ').next().unwrap()));
        }
    }
}
