//! The command line.

use crate::rows::Group;
use crate::settings::{Congestion, Settings};
use crate::stack::Name;
use clap::Parser;
use std::path::PathBuf;

/// Paceline beside quinn, s2n-quic and quiche over loopback: server and client in two processes
/// with a current-thread runtime each, rounds interleaved, medians. quiche is there if the program
/// was built with the feature of that name.
///
/// Alike for all: the size of packets, AES-128-GCM and X25519 (of aws-lc-rs, quiche's of
/// BoringSSL), the certificate, CUBIC
/// (BBR in the rows that say so), windows, socket buffers, and what is done on the streams. Rounds
/// during which other programs took over 15 % of a CPU are marked with `!`. The exit code is 1 when
/// a round failed.
#[derive(Debug, Parser)]
#[command(name = "peers", after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Rows of the table: groups of them
    #[arg(long, value_delimiter = ',', value_name = "GROUP,…")]
    pub(crate) rows: Vec<Group>,

    /// Only these stacks
    #[arg(long, value_delimiter = ',', value_name = "STACK,…")]
    pub(crate) only: Vec<Name>,

    /// This program as another commit builds it: its paceline is measured beside, as `before`
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) before: Option<PathBuf>,

    /// Measured rounds of each row and stack
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,

    /// UDP payload of bulk transfers in bytes
    #[arg(long, value_delimiter = ',', value_name = "BYTES,…",
        default_value = "1200,1452,8952,16383,65000",
        value_parser = clap::value_parser!(u16).range(1_200..=65_000))]
    pub(crate) mtu: Vec<u16>,

    /// Flow-control window of streams, connections and senders in bytes
    #[arg(long, default_value_t = 4 << 20, value_name = "BYTES",
        value_parser = clap::value_parser!(u32).range(1 << 16..=1 << 30))]
    pub(crate) window: u32,

    /// Receive and send buffer of the sockets in bytes
    #[arg(long, default_value_t = 4 << 20, value_name = "BYTES",
        value_parser = clap::value_parser!(u32).range(1 << 16..=1 << 30))]
    pub(crate) socket_buffer: u32,

    /// How much each round does, relative to what it usually does
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", value_parser = scale)]
    pub(crate) scale: f64,

    /// Samples every process with Linux's `perf`, and shows whose code its CPU time was in
    #[arg(long)]
    pub(crate) profile: bool,

    /// Writes every round of every row
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

impl Args {
    /// Those of a row under this congestion control and with packets of this size, ours first.
    pub(crate) fn stacks(&self, congestion: Congestion, mtu: u16) -> Vec<Name> {
        let (ours, peers): (Vec<_>, Vec<_>) = chosen(&self.only)
            .into_iter()
            .partition(|name| *name == Name::Paceline);
        let is_paced = congestion != Congestion::Cubic;
        let peers = peers
            .into_iter()
            .filter(|name| takes_part(*name, is_paced, mtu));
        let cubic = (is_paced && !ours.is_empty()).then_some(Name::Cubic);
        let before = self.before.as_ref().map(|_| Name::Before);
        let beside = cubic.into_iter().chain(before).chain(peers);
        ours.into_iter().chain(beside).collect()
    }

    pub(crate) fn groups(&self) -> Vec<Group> {
        chosen(&self.rows)
    }

    pub(crate) fn settings(&self, mtu: u16, congestion: Congestion) -> Settings {
        Settings {
            mtu,
            window: self.window,
            socket_buffer: self.socket_buffer as usize,
            congestion,
        }
    }
}

/// quinn's documentation calls its BBR experimental; quiche leaves pacing to its application, and
/// has no larger packets.
fn takes_part(name: Name, is_paced: bool, mtu: u16) -> bool {
    match name {
        Name::Quinn => !is_paced,
        #[cfg(feature = "quiche")]
        Name::Quiche => !is_paced && mtu <= crate::stack::LARGEST_PACKET,
        _ => mtu > 0,
    }
}

/// In the order of their declaration, which is that of the table; all of them unless some are
/// named.
fn chosen<T: clap::ValueEnum + PartialEq>(named: &[T]) -> Vec<T> {
    let all = T::value_variants().iter();
    let chosen = all.filter(|one| named.is_empty() || named.contains(one));
    chosen.cloned().collect()
}

fn scale(word: &str) -> Result<f64, String> {
    let factor: f64 = word.parse().map_err(|_| "expected a number".to_owned())?;
    match factor {
        0.001..=100.0 => Ok(factor),
        _ => Err("expected a factor from 0.001 to 100".to_owned()),
    }
}

const EXAMPLES: &str = "\
Examples:
  peers                                      the whole table, in 6 to 15 minutes
  peers --before ../before/target/release/peers    with the commit before beside
  peers --rows bulk --mtu 1452 --only paceline,quinn
  peers --rows bulk --mtu 8952 --scale 4 --profile   where the CPU time goes
  peers --rounds 1 --scale 0.02              whether everything works";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn ours_comes_first_whatever_the_order_of_the_words() {
        let args = Args::parse_from(["peers", "--only", "s2n-quic,paceline"]);
        let stacks = args.stacks(Congestion::Cubic, 1_200);
        assert_eq!(stacks, [Name::Paceline, Name::S2nQuic]);
        assert_eq!(args.groups().len(), 6);
    }

    #[test]
    fn another_build_and_cubic_stand_behind_ours() {
        let args = Args::parse_from(["peers", "--before", "old/peers"]);
        use Name::{Before, Cubic, Paceline, Quinn, S2nQuic};
        let unpaced = [Paceline, Before, Quinn, S2nQuic];
        assert_eq!(args.stacks(Congestion::Cubic, 65_000), unpaced);
        let paced = [Paceline, Cubic, Before, S2nQuic];
        assert_eq!(args.stacks(Congestion::Bbr3, 65_000), paced);
    }

    #[test]
    fn a_scale_of_nothing_is_refused() {
        assert!(Args::try_parse_from(["peers", "--scale", "0"]).is_err());
        assert!(Args::try_parse_from(["peers", "--scale", "NaN"]).is_err());
    }
}
