use crate::args::AbArgs;
use bench_kit::cli::DEFAULT_CONTROLLER;
use bench_kit::plan::{Direction, Limit, Plan, step_for, target_rate};

/// What each connection does whose sender has controller `cc`.
pub(super) fn plan(args: &AbArgs, direction: Direction, cc: &str) -> Plan {
    let limit = Limit::Time(args.time);
    let (client, server) = match direction {
        Direction::Reverse => (DEFAULT_CONTROLLER, cc),
        _ => (cc, DEFAULT_CONTROLLER),
    };
    Plan {
        direction,
        limit,
        omit: args.omit,
        streams: args.transfer.parallel,
        length: args.transfer.length.get(),
        rate: target_rate(args.transfer.bitrate),
        client_congestion: client.to_owned(),
        server_congestion: server.to_owned(),
        window: args.transfer.window.get(),
        step: step_for(limit, args.omit, None),
        extras: bench_kit::plan::Extras::default(),
    }
}
