//! The rows of the table: what is done, and which figures come of it.

use crate::args::Args;
use crate::parent::Round;
use crate::protocol::{Job, Welcome};
use crate::settings::Congestion;
use clap::ValueEnum;
use std::time::Duration;

/// Rows that are chosen together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Group {
    /// Bulk download and upload, one stream, at each size of packets
    Bulk,
    /// The same under BBR, and under our `paceline`, beside CUBIC
    Paced,
    /// One byte there and back
    Ping,
    /// Full handshakes, one after the other and 16 at a time
    Handshakes,
    /// 100 connections that download at once
    Many,
    /// Memory of 10,000 connections that do nothing
    Idle,
}

/// One kind of work.
pub(crate) struct Row {
    /// Its name in JSON.
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) mtu: u16,
    pub(crate) congestion: Congestion,
    pub(crate) job: Job,
    /// Played once before the rounds, with every byte compared.
    pub(crate) check: Option<Job>,
    pub(crate) welcome: Welcome,
    /// The first one is what the row is about.
    pub(crate) figures: &'static [Figure],
}

/// A number that a round yields.
pub(crate) struct Figure {
    /// In the table's head, with the unit.
    pub(crate) head: &'static str,
    /// In JSON, with the unit.
    pub(crate) key: &'static str,
    pub(crate) is_more_better: bool,
    pub(crate) decimals: usize,
    pub(crate) of: fn(&Round) -> f64,
    /// Whose CPU time it is, if it is CPU time.
    pub(crate) side: Option<Side>,
}

/// One of the two processes of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Server,
    Client,
}

impl Figure {
    /// How many times better `ours` is than `theirs`: below 1 when it is behind.
    pub(crate) fn lead(&self, ours: f64, theirs: f64) -> f64 {
        if self.is_more_better {
            ours / theirs
        } else {
            theirs / ours
        }
    }
}

/// The rows that `args` ask for, in order.
pub(crate) fn rows(args: &Args) -> Vec<Row> {
    let scaled = |amount: u64| ((amount as f64 * args.scale) as u64).max(20);
    let rows = args.groups().into_iter().flat_map(|group| match group {
        Group::Bulk => bulk(&args.mtu, scaled(BULK_BYTES)),
        Group::Paced => paced(scaled(BULK_BYTES)),
        Group::Ping => vec![ping(scaled(REQUESTS))],
        Group::Handshakes => vec![
            handshakes(scaled(HANDSHAKES), 1),
            handshakes(scaled(HANDSHAKES), 16),
        ],
        Group::Many => vec![many(MANY_TIME.mul_f64(args.scale))],
        Group::Idle => vec![idle(scaled(IDLE_CONNECTIONS))],
    });
    rows.collect()
}

fn bulk(mtus: &[u16], bytes: u64) -> Vec<Row> {
    let ways = [("download", false, DOWNLOAD), ("upload", true, UPLOAD)];
    let row = |mtu: u16, (way, is_upload, figures): (&str, bool, &'static [Figure])| Row {
        id: format!("bulk_{way}_{mtu}"),
        title: format!(
            "bulk {way}, {mtu} bytes a packet: {} MB on one stream",
            bytes / 1_000_000
        ),
        mtu,
        congestion: Congestion::Cubic,
        job: Job::Bulk {
            is_upload,
            bytes,
            is_checked: false,
        },
        check: Some(Job::Bulk {
            is_upload,
            bytes: bytes / 16,
            is_checked: true,
        }),
        welcome: Welcome::Answer,
        figures,
    };
    let pairs = mtus
        .iter()
        .flat_map(|&mtu| ways.into_iter().map(move |way| (mtu, way)));
    pairs.map(|(mtu, way)| row(mtu, way)).collect()
}

/// The rows of one size of packets, under each controller that paces.
fn paced(bytes: u64) -> Vec<Row> {
    let controllers = [
        ("bbr3", Congestion::Bbr3),
        ("paceline", Congestion::Paceline),
    ];
    let rows = controllers.into_iter().flat_map(|(name, congestion)| {
        bulk(&[PACED_MTU], bytes).into_iter().map(move |row| Row {
            id: format!("{}_{name}", row.id),
            title: format!("{}, {name}; s2n-quic: BBR", row.title),
            congestion,
            ..row
        })
    });
    rows.collect()
}

fn ping(requests: u64) -> Row {
    Row {
        id: "ping".to_owned(),
        title: format!("1 byte there and back, {requests} times on one stream; us a request"),
        mtu: USUAL_MTU,
        congestion: Congestion::Cubic,
        job: Job::Ping { requests },
        check: None,
        welcome: Welcome::Answer,
        figures: PING,
    }
}

fn handshakes(count: u64, at_once: u64) -> Row {
    let order = match at_once {
        1 => "one after the other".to_owned(),
        _ => format!("{at_once} at a time"),
    };
    Row {
        id: format!("handshakes_{at_once}"),
        title: format!("{count} full handshakes, {order}; CPU us for each"),
        mtu: USUAL_MTU,
        congestion: Congestion::Cubic,
        job: Job::Handshakes { count, at_once },
        check: None,
        welcome: Welcome::Close,
        figures: SHAKING,
    }
}

fn many(time: Duration) -> Row {
    Row {
        id: "many".to_owned(),
        title: format!(
            "{MANY_CONNECTIONS} connections download at once for {:.1} s",
            time.as_secs_f64()
        ),
        mtu: USUAL_MTU,
        congestion: Congestion::Cubic,
        job: Job::Many {
            connections: MANY_CONNECTIONS,
            time,
        },
        check: None,
        welcome: Welcome::Answer,
        figures: MANY,
    }
}

fn idle(connections: u64) -> Row {
    Row {
        id: "idle".to_owned(),
        title: format!("memory of {connections} idle connections; KiB for each"),
        mtu: USUAL_MTU,
        congestion: Congestion::Cubic,
        job: Job::Idle { connections },
        check: None,
        welcome: Welcome::Answer,
        figures: IDLE,
    }
}

const fn more(
    head: &'static str,
    key: &'static str,
    decimals: usize,
    of: fn(&Round) -> f64,
) -> Figure {
    Figure {
        head,
        key,
        is_more_better: true,
        decimals,
        of,
        side: None,
    }
}

const fn less(
    head: &'static str,
    key: &'static str,
    decimals: usize,
    of: fn(&Round) -> f64,
) -> Figure {
    Figure {
        head,
        key,
        is_more_better: false,
        decimals,
        of,
        side: None,
    }
}

/// CPU time of one side for each byte, handshake or request.
const fn cpu(
    head: &'static str,
    key: &'static str,
    decimals: usize,
    side: Side,
    of: fn(&Round) -> f64,
) -> Figure {
    Figure {
        side: Some(side),
        ..less(head, key, decimals, of)
    }
}

const fn sending(side: Side) -> Figure {
    let of = per_gigabyte(side);
    cpu("send s/GB", "sender_cpu_seconds_per_gigabyte", 3, side, of)
}

const fn receiving(side: Side) -> Figure {
    let of = per_gigabyte(side);
    cpu(
        "recv s/GB",
        "receiver_cpu_seconds_per_gigabyte",
        3,
        side,
        of,
    )
}

const fn per_gigabyte(side: Side) -> fn(&Round) -> f64 {
    match side {
        Side::Server => |round| round.server.cpu / round.amount * 1e9,
        Side::Client => |round| round.client.cpu / round.amount * 1e9,
    }
}

/// Microseconds for each request or handshake.
const fn micros(head: &'static str, key: &'static str, decimals: usize, side: Side) -> Figure {
    let of: fn(&Round) -> f64 = match side {
        Side::Server => |round| round.server.cpu / round.amount * 1e6,
        Side::Client => |round| round.client.cpu / round.amount * 1e6,
    };
    cpu(head, key, decimals, side, of)
}

const RATE: Figure = more("Gbit/s", "gigabits_per_second", 2, |round| {
    round.per_second() * 8.0 / 1e9
});
const DOWNLOAD: &[Figure] = &[RATE, sending(Side::Server), receiving(Side::Client)];
const UPLOAD: &[Figure] = &[RATE, sending(Side::Client), receiving(Side::Server)];
const PING: &[Figure] = &[
    less("p50", "p50_microseconds", 1, |round| {
        round.latency.map_or(f64::NAN, |l| l.p50 as f64 / 1e3)
    }),
    less("p99", "p99_microseconds", 1, |round| {
        round.latency.map_or(f64::NAN, |l| l.p99 as f64 / 1e3)
    }),
    micros(
        "server CPU",
        "server_cpu_microseconds_per_request",
        1,
        Side::Server,
    ),
    micros(
        "client CPU",
        "client_cpu_microseconds_per_request",
        1,
        Side::Client,
    ),
];
const SHAKING: &[Figure] = &[
    more("per second", "handshakes_per_second", 0, Round::per_second),
    micros("server", "server_cpu_microseconds", 0, Side::Server),
    micros("client", "client_cpu_microseconds", 0, Side::Client),
];
const MANY: &[Figure] = &[
    RATE,
    more("Jain's", "jains_index", 3, |round| jain(&round.shares)),
    sending(Side::Server),
    receiving(Side::Client),
];
const IDLE: &[Figure] = &[
    less("server", "server_kibibytes_per_connection", 2, |round| {
        round.server.grown / 1_024.0 / round.amount
    }),
    less("client", "client_kibibytes_per_connection", 2, |round| {
        round.client.grown / 1_024.0 / round.amount
    }),
];

/// Jain's fairness index: 1 when all shares are equal, 1/n when one has everything.
fn jain(shares: &[u64]) -> f64 {
    let sum: f64 = shares.iter().map(|&share| share as f64).sum();
    let squares: f64 = shares.iter().map(|&share| (share as f64).powi(2)).sum();
    sum * sum / (shares.len() as f64 * squares)
}

/// Of the rows that are not about the size of packets.
const USUAL_MTU: u16 = 1_452;
/// The largest UDP payload of Ethernet over IPv4.
const PACED_MTU: u16 = 1_472;
const BULK_BYTES: u64 = 1_000_000_000;
const REQUESTS: u64 = 10_000;
const HANDSHAKES: u64 = 2_000;
const MANY_CONNECTIONS: u64 = 100;
const MANY_TIME: Duration = Duration::from_secs(2);
const IDLE_CONNECTIONS: u64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn jains_index_is_one_for_equal_shares_and_a_share_for_one_of_many() {
        assert_eq!(jain(&[5, 5, 5, 5]), 1.0);
        assert_eq!(jain(&[8, 0, 0, 0]), 0.25);
    }

    #[test]
    fn a_lead_is_above_one_whichever_way_is_better() {
        assert_eq!(RATE.lead(20.0, 10.0), 2.0);
        assert_eq!(IDLE[0].lead(5.0, 10.0), 2.0);
    }

    #[test]
    fn the_whole_table_has_every_row_of_its_description() {
        let ids: Vec<String> = rows(&Args::parse_from(["peers"]))
            .into_iter()
            .map(|row| row.id)
            .collect();
        let bulk = ids.iter().filter(|id| id.starts_with("bulk_")).count();
        assert_eq!(bulk, 14);
        assert_eq!(ids[13], "bulk_upload_1472_paceline");
        assert_eq!(
            ids[14..],
            ["ping", "handshakes_1", "handshakes_16", "many", "idle"]
        );
    }
}
