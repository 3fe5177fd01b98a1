/// A word of the grammar of [`LinkSpec`](crate::LinkSpec), for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkWord {
    /// How it is written.
    pub form: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// A link with it. A `trace` names a file that has to be there.
    pub example: &'static str,
}

/// Makes the list, and a table of it for readers of the documentation.
macro_rules! vocabulary {
    ($($form:literal, $meaning:literal, $example:literal;)*) => {
        /// All words of the grammar of [`LinkSpec`](crate::LinkSpec), in the order in which links
        /// print them. `C%` is a correlation in netem's sense.
        ///
        /// | words | meaning |
        /// |---|---|
        $(#[doc = concat!("| `", $form, "` | ", $meaning, " |")])*
        pub const LINK_WORDS: &[LinkWord] = &[$(LinkWord {
            form: $form,
            meaning: $meaning,
            example: $example,
        }),*];
    };
}

vocabulary! {
    "delay TIME [JITTER [C%]] [distribution NAME] [ordered]",
    "propagation, and how far it varies; NAME is uniform, normal, pareto or paretonormal; \
     without `ordered`, jitter reorders",
    "delay 20ms 5ms 25% distribution normal";

    "loss P% [C%] [ecn]",
    "independent random loss, or netem's correlation of it; `ecn` marks what can be marked \
     instead",
    "loss 1%";

    "loss gemodel P% [R% [1-H% [1-K%]]]",
    "bursts of loss (Gilbert-Elliott): good to bad, bad to good, then the loss in bad (100%) \
     and in good (0%)",
    "loss gemodel 1% 25%";

    "loss state P13% [P31% [P32% [P23% [P14%]]]]",
    "netem's chain of four states",
    "loss state 1% 30%";

    "loss packets LIST",
    "these packets and no others, counted from 1",
    "loss packets 3,10-12";

    "corrupt P% [C%]",
    "one bit of the packet flips",
    "corrupt 0.1%";

    "duplicate P% [C%]",
    "a second copy follows",
    "duplicate 0.1%";

    "reorder P% [C%] [gap N]",
    "sent at once instead of delayed, at most every Nth packet",
    "delay 20ms reorder 1% gap 5";

    "rate RATE [OVERHEAD [CELL [CELLOVERHEAD]]]",
    "bottleneck: bits per second at layer 2, with so many bytes more a packet, in cells",
    "rate 100mbit";

    "tbf RATE burst SIZE [peakrate RATE mtu SIZE]",
    "the same through a token bucket, whose burst leaves at once or at the peak rate",
    "tbf 10mbit burst 32kb";

    "trace FILE",
    "delivery opportunities as mahimahi records them, over and over",
    "trace cellular.trace";

    "slot MIN [MAX] [packets N] [bytes SIZE]",
    "packets leave in bursts of at most so much, MIN to MAX apart",
    "slot 10ms 20ms packets 8";

    "slot distribution NAME TIME JITTER [packets N] [bytes SIZE]",
    "the same, distances from a distribution",
    "slot distribution normal 10ms 2ms";

    "limit PACKETS",
    "at most so many packets inside the link, the delay's included; 1000 unless it has a queue",
    "limit 1000";

    "policer RATE burst SIZE",
    "what exceeds the token bucket is dropped before the queue",
    "policer 10mbit burst 100kb";

    "queue SIZE",
    "what the queue before the bottleneck holds: `1bdp`, multiples of rate x base RTT; `100p`, \
     packets; `250kb`, bytes",
    "delay 40ms rate 100mbit queue 1bdp";

    "aqm NAME [PARAMETERS]",
    "the discipline of that queue: droptail, drophead, codel, fq_codel, cake, red, pie or \
     dualpi2, with tc's parameters",
    "rate 100mbit aqm fq_codel target 5ms ecn";

    "radio TIME [suspend TIME every TIME]",
    "a radio: each packet waits for the channel, TIME on average; silent for so long, that far \
     apart on average",
    "radio 5ms suspend 50ms every 10s";

    "seed N",
    "random numbers of its own",
    "loss 1% seed 7";

    "at TIME CLAUSES",
    "from then on these clauses replace those before",
    "rate 10mbit at 10s rate 1mbit";

    "at TIME..TIME CLAUSES",
    "the same for so long",
    "delay 20ms at 5s..7s loss 100%";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LinkSpec;
    use crate::spec::clauses::CLAUSES;

    fn first(word: &LinkWord) -> &'static str {
        word.form.split(' ').next().unwrap()
    }

    #[test]
    fn every_word_that_begins_a_clause_is_listed_and_no_other() {
        let mut listed: Vec<&str> = LINK_WORDS.iter().map(first).collect();
        listed.dedup();
        assert_eq!(listed, [&CLAUSES[..], &["at"]].concat());
    }

    #[test]
    fn every_example_is_a_link_with_its_word() {
        for word in LINK_WORDS {
            let link = LinkSpec::parse_with(word.example, |_| Ok("1\n".to_owned()));
            assert!(link.is_ok(), "{}: {link:?}", word.example);
            assert!(word.example.contains(first(word)), "{}", word.example);
        }
    }

    #[test]
    fn every_discipline_is_named() {
        let aqm = LINK_WORDS.iter().find(|word| first(word) == "aqm").unwrap();
        for name in crate::spec::aqm::NAMES {
            assert!(aqm.meaning.contains(name), "{name}");
        }
    }
}
