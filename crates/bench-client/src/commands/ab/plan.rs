use crate::args::AbArgs;
use bench_kit::cli::DEFAULT_CONTROLLER;
use bench_kit::plan::{Datagrams, Direction, Extras, Limit, Plan, step_for, target_rate};
use std::time::Duration;
use units::Bandwidth;

/// Measured part and warm-up of a round; where bytes end it, the longest that it may take.
pub(super) fn times(args: &AbArgs) -> (Duration, Duration) {
    let (time, omit) = match args.bytes {
        None => USUAL_TIMES,
        Some(_) => LONGEST_TRANSFER,
    };
    (args.time.unwrap_or(time), args.omit.unwrap_or(omit))
}

/// What each connection does whose sender has controller `cc`, with streams of at most `rate`.
pub(super) fn plan(args: &AbArgs, direction: Direction, cc: &str, rate: Option<Bandwidth>) -> Plan {
    let (time, omit) = times(args);
    let bytes = args.bytes.map(|bytes| Limit::Bytes(bytes.get()));
    let limit = bytes.unwrap_or(Limit::Time(time));
    let (client, server) = match direction {
        Direction::Reverse => (DEFAULT_CONTROLLER, cc),
        _ => (cc, DEFAULT_CONTROLLER),
    };
    Plan {
        direction,
        limit,
        omit,
        streams: args.transfer.streams(),
        length: args.transfer.length.get(),
        rate: target_rate(rate),
        client_congestion: client.to_owned(),
        server_congestion: server.to_owned(),
        window: args.transfer.window.most.get(),
        step: step_for(limit, omit, None),
        extras: Extras {
            at_most: args.bytes.map(|_| time),
            datagrams: args.udp.then(|| Datagrams {
                size: args.transfer.datagram_size(args.transfer.length.get()),
            }),
            media: args.transfer.media(),
            window_follows: args.transfer.window.follows,
            ..Extras::default()
        },
    }
}

/// Seconds that a round measures and leaves out.
const USUAL_TIMES: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(1));

/// The same where bytes end it, as those of a matrix.
const LONGEST_TRANSFER: (Duration, Duration) = (Duration::from_secs(600), Duration::ZERO);
