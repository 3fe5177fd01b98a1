use super::error::SpecError;
use super::preset::presets;
use super::words::{Word, Words, is_value};

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

/// The error for a word that begins no clause.
pub(super) fn unknown(words: &Words<'_>, word: Word<'_>) -> SpecError {
    if let Some((_, place)) = PARTS.iter().find(|(part, _)| *part == word.text) {
        return words.error(word, format!("it belongs behind {place}"));
    }
    if presets().any(|preset| preset.name == word.text) {
        return words.error(word, "the name of a preset stands at the begin");
    }
    let mut problem = format!("expected {} or at", CLAUSES.join(", "));
    let known = CLAUSES.into_iter().chain(PARTS.map(|(part, _)| part));
    let known = known.chain(presets().map(|preset| preset.name));
    if is_value(word.text) {
        problem.push_str(" before a value");
    } else if let Some(near) = units::nearest(word.text, known) {
        problem = format!("{problem}; did you mean `{near}`?");
    }
    words.error(word, problem)
}

pub(super) const CLAUSES: [&str; 15] = [
    "delay",
    "loss",
    "corrupt",
    "duplicate",
    "reorder",
    "rate",
    "tbf",
    "trace",
    "slot",
    "limit",
    "policer",
    "queue",
    "aqm",
    "radio",
    "seed",
];
/// Words that stand inside a clause, and where.
const PARTS: [(&str, &str); 40] = [
    ("distribution", "`delay TIME JITTER`"),
    ("ordered", "`delay TIME JITTER`"),
    ("random", "`loss`"),
    ("gemodel", "`loss`"),
    ("state", "`loss`"),
    ("packets", "`loss` or `slot TIME`"),
    ("bytes", "`slot TIME`"),
    ("gap", "`reorder P%`"),
    ("burst", "`tbf RATE`, `policer RATE` or `aqm red`"),
    ("peakrate", "`tbf RATE burst SIZE`"),
    ("mtu", "`tbf RATE burst SIZE peakrate RATE`"),
    ("suspend", "`radio TIME`"),
    ("every", "`radio TIME suspend TIME`"),
    ("ecn", "`loss P%` or `aqm NAME`"),
    ("target", "`aqm NAME`"),
    ("interval", "`aqm NAME`"),
    ("min", "`aqm red`"),
    ("max", "`aqm red`"),
    ("probability", "`aqm red`"),
    ("avpkt", "`aqm red`"),
    ("harddrop", "`aqm red`"),
    ("nodrop", "`aqm red`"),
    ("tupdate", "`aqm NAME`"),
    ("alpha", "`aqm NAME`"),
    ("beta", "`aqm NAME`"),
    ("bytemode", "`aqm pie`"),
    ("coupling_factor", "`aqm dualpi2`"),
    ("step_thresh", "`aqm dualpi2`"),
    ("drop_on_overload", "`aqm dualpi2`"),
    ("overflow", "`aqm dualpi2`"),
    ("classic_protection", "`aqm dualpi2`"),
    ("drop_enqueue", "`aqm dualpi2`"),
    ("drop_dequeue", "`aqm dualpi2`"),
    ("l4s_ect", "`aqm dualpi2`"),
    ("any_ect", "`aqm dualpi2`"),
    ("flows", "`aqm NAME`"),
    ("noecn", "`aqm NAME`"),
    ("ce_threshold", "`aqm NAME`"),
    ("quantum", "`aqm fq_codel`"),
    ("rtt", "`aqm cake`"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::link_spec::LinkSpec;

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
        for name in crate::spec::clauses::aqm::NAMES {
            assert!(aqm.meaning.contains(name), "{name}");
        }
    }
}
