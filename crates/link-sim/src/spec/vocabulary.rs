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
    /// A link with it. A `trace` names a built-in trace, or a file that has to be there.
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
    "propagation delay and its variation; NAME is uniform, normal, pareto or paretonormal; jitter \
     reorders packets unless `ordered`",
    "delay 20ms 5ms 25% distribution normal";

    "delay trace FILE [every TIME]",
    "recorded delay, repeated: FILE has a number of ms for each TIME (default 10ms); packets keep \
     their order",
    "delay trace starlink-delay every 10ms";

    "loss P% [C%] [ecn]",
    "random loss, with netem's correlation C%; `ecn` marks ECN-capable packets instead of dropping \
     them",
    "loss 1%";

    "loss gemodel P% [R% [1-H% [1-K%]]]",
    "bursty loss (Gilbert-Elliott): P good to bad, R bad to good, 1-H loss in bad (default 100%), \
     1-K loss in good (default 0%)",
    "loss gemodel 1% 25%";

    "loss state P13% [P31% [P32% [P23% [P14%]]]]",
    "netem's four-state Markov chain",
    "loss state 1% 30%";

    "loss packets LIST",
    "exactly these packets, counted from 1",
    "loss packets 3,10-12";

    "loss trace FILE",
    "recorded losses, repeated: FILE has a digit for each packet, 1 for a lost one",
    "loss trace losses.txt";

    "corrupt P% [C%]",
    "flips one bit of the packet",
    "corrupt 0.1%";

    "duplicate P% [C%]",
    "sends a second copy of the packet",
    "duplicate 0.1%";

    "reorder P% [C%] [gap N]",
    "sends packets without delay, at most every Nth",
    "delay 20ms reorder 1% gap 5";

    "rate RATE [OVERHEAD [CELL [CELLOVERHEAD]]]",
    "bottleneck rate at layer 2, in tc's units: `mbit` is bits, `mbps` bytes; OVERHEAD bytes per \
     packet, CELL bytes per cell, CELLOVERHEAD bytes per cell",
    "rate 100mbit";

    "tbf RATE burst SIZE [peakrate RATE mtu SIZE]",
    "bottleneck rate as a token bucket; bursts leave at once, or at the peak rate",
    "tbf 10mbit burst 32kb";

    "trace FILE",
    "delivery opportunities as recorded by mahimahi, repeated; FILE may be a built-in name such as \
     nepal-wifi",
    "trace cellular";

    "slot MIN [MAX] [packets N] [bytes SIZE]",
    "packets leave in bursts, MIN to MAX apart, of at most N packets or SIZE bytes",
    "slot 10ms 20ms packets 8";

    "slot distribution NAME TIME JITTER [packets N] [bytes SIZE]",
    "the same, with the distance drawn from a distribution",
    "slot distribution normal 10ms 2ms";

    "limit PACKETS",
    "maximum packets inside the link, delayed ones included; default 1000 if it has no `queue`",
    "limit 1000";

    "policer RATE burst SIZE",
    "token bucket before the queue that drops what exceeds it",
    "policer 10mbit burst 100kb";

    "queue SIZE",
    "capacity of the bottleneck's queue: `1bdp`, multiples of rate x base RTT; `100p`, packets; \
     `250kb`, bytes",
    "delay 40ms rate 100mbit queue 1bdp";

    "aqm NAME [PARAMETERS]",
    "discipline of that queue: droptail, drophead, codel, fq_codel, cake, red, pie or dualpi2, \
     with tc's parameters",
    "rate 100mbit aqm fq_codel target 5ms ecn";

    "radio TIME [suspend TIME every TIME]",
    "radio channel: each packet waits TIME on average; `suspend` adds outages of this length, this \
     far apart on average",
    "radio 5ms suspend 50ms every 10s";

    "seed N",
    "seed of this link's random numbers",
    "loss 1% seed 7";

    "at TIME CLAUSES",
    "from TIME on, these clauses replace the earlier ones",
    "rate 10mbit at 10s rate 1mbit";

    "at TIME..TIME CLAUSES",
    "the same during this period",
    "delay 20ms at 5s..7s loss 100%";
}

/// The error for a word that begins no clause.
pub(super) fn unknown(words: &Words<'_>, word: Word<'_>) -> SpecError {
    if let Some((_, place)) = PARTS.iter().find(|(part, _)| *part == word.text) {
        return words.error(word, format!("only allowed after {place}"));
    }
    if presets().any(|preset| preset.name == word.text) {
        return words.error(word, "a preset's name must come first");
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
const PARTS: [(&str, &str); 41] = [
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
    ("every", "`radio TIME suspend TIME` or `delay trace FILE`"),
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
    ("min_qlen_step", "`aqm dualpi2`"),
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
    fn a_rate_is_said_to_have_tcs_units() {
        let parsed = ["rate 1mbps", "rate 8mbit"].map(|link| link.parse::<LinkSpec>().unwrap());
        assert_eq!(parsed[0], parsed[1]);
        let rate = LINK_WORDS
            .iter()
            .find(|word| first(word) == "rate")
            .unwrap();
        assert!(rate.meaning.contains("`mbps` bytes"), "{}", rate.meaning);
    }

    #[test]
    fn every_discipline_is_named() {
        let aqm = LINK_WORDS.iter().find(|word| first(word) == "aqm").unwrap();
        for name in crate::spec::clauses::aqm::NAMES {
            assert!(aqm.meaning.contains(name), "{name}");
        }
    }
}
