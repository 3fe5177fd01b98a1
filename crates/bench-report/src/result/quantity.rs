//! What is measured of a sender, in one table: samples on the wire, rows, JSON, CSV, the live view
//! and plots take names, units and sums from it. A new quantity is an entry here, and a line where
//! the sampler reads it.

macro_rules! quantities {
    ($($(#[doc = $doc:literal])+ $name:ident: $definition:expr;)+) => {
        /// A quantity of a sender.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Quantity {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Quantity {
            /// All of them, in the order of the JSON.
            pub const ALL: [Self; COUNT] = [$(Self::$name),+];

            const TABLE: [Definition; COUNT] = [$($definition),+];
        }

        /// How many there are.
        pub(super) const COUNT: usize = [$(stringify!($name)),+].len();
    };
}

quantities! {
    /// The smoothed round-trip time at the end (RFC 9002 §5.3).
    SmoothedRtt: Definition::new("rtt_ms", "rtt", Unit::Time).over_connections(Join::Mean);
    /// The mean deviation of the round-trip time at the end (RFC 9002 §5.3).
    RttVar: Definition::new("rttvar_ms", "rttvar", Unit::Time).rows_only();
    /// The congestion window at the end.
    Cwnd: Definition::new("cwnd_bytes", "snd_cwnd", Unit::Bytes).over_connections(Join::Sum);
    /// Bytes in flight at the end.
    InFlight: Definition::new("bytes_in_flight", "bytes_in_flight", Unit::Bytes)
        .over_connections(Join::Sum);
    /// The pacing rate at the end; unknown when the sender does not pace.
    PacingRate: Definition::same("pacing_rate_bits_per_second", Unit::BitsPerSecond)
        .over_connections(Join::Sum);
    /// The latest sample of the delivery rate.
    DeliveryRate: Definition::same("delivery_rate_bits_per_second", Unit::BitsPerSecond)
        .over_connections(Join::Sum);
    /// Packets declared lost.
    PacketsLost: Definition::new("packets_lost", "retransmits", Unit::Packets)
        .adds_up()
        .over_connections(Join::Sum);
    /// Packets declared lost that have arrived after all.
    SpuriouslyLost: Definition::same("packets_spuriously_lost", Unit::Packets)
        .adds_up()
        .over_connections(Join::Sum);
    /// Packets reported as marked Congestion Experienced.
    CeMarked: Definition::same("ecn_ce_packets", Unit::Packets)
        .adds_up()
        .over_connections(Join::Sum);
    /// The least round-trip time of the path so far.
    MinRtt: Definition::new("min_rtt_ms", "path_min_rtt", Unit::Time)
        .over_connections(Join::Min)
        .left_out();
    /// The factor between the controller's bandwidth and its pacing rate, where it has one.
    PacingGain: Definition::same("pacing_gain", Unit::Gain).left_out();
    /// The factor between the controller's bandwidth-delay product and its window.
    CwndGain: Definition::same("cwnd_gain", Unit::Gain).left_out();
    /// The share of the time, 0 to 1, in which there was nothing to send.
    ApplicationLimited: Definition::same("application_limited", Unit::ShareOfTime)
        .adds_up()
        .left_out();
    /// The largest UDP payload in use.
    Mtu: Definition::new("mtu_bytes", "pmtu", Unit::Bytes)
        .over_connections(Join::First)
        .rows_only();
}

/// What is to be known of a quantity.
pub(super) struct Definition {
    /// Its name in intervals, in CSV and on the wire.
    pub(super) name: &'static str,
    /// Its name in iperf3's rows.
    pub(super) row: &'static str,
    pub(super) unit: Unit,
    /// Whether it is an amount, which adds up over time, and not a state, whose latest value holds.
    pub(super) adds_up: bool,
    pub(super) over_connections: Join,
    pub(super) unknown: Unknown,
}

/// What a quantity is counted in: a whole number in samples, and in intervals and rows as said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Packets,
    Bytes,
    BitsPerSecond,
    /// Nanoseconds in samples, milliseconds in intervals, whole microseconds in rows.
    Time,
    /// Millionths in samples.
    Gain,
    /// Nanoseconds in samples.
    ShareOfTime,
}

/// What several connections have together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Join {
    Sum,
    Mean,
    Min,
    /// That of the first connection: they are alike.
    First,
    /// Nothing: the quantity belongs to one connection.
    Nothing,
}

/// What an interval's JSON says of a quantity that is not known; rows leave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    Null,
    LeftOut,
    /// Intervals never have it.
    RowsOnly,
}

impl Definition {
    const fn new(name: &'static str, row: &'static str, unit: Unit) -> Self {
        Self {
            name,
            row,
            unit,
            adds_up: false,
            over_connections: Join::Nothing,
            unknown: Unknown::Null,
        }
    }

    const fn same(name: &'static str, unit: Unit) -> Self {
        Self::new(name, name, unit)
    }

    const fn adds_up(self) -> Self {
        Self {
            adds_up: true,
            ..self
        }
    }

    const fn over_connections(self, join: Join) -> Self {
        Self {
            over_connections: join,
            ..self
        }
    }

    const fn left_out(self) -> Self {
        Self {
            unknown: Unknown::LeftOut,
            ..self
        }
    }

    const fn rows_only(self) -> Self {
        Self {
            unknown: Unknown::RowsOnly,
            ..self
        }
    }
}

impl Quantity {
    pub(super) const fn definition(self) -> &'static Definition {
        &Self::TABLE[self as usize]
    }

    /// Its name with its unit, as intervals and CSV have it.
    pub const fn name(self) -> &'static str {
        self.definition().name
    }

    /// Whether intervals have it, and CSV with them; rows have all.
    pub fn is_in_intervals(self) -> bool {
        self.definition().unknown != Unknown::RowsOnly
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_quantitys_alone() {
        for (index, quantity) in Quantity::ALL.into_iter().enumerate() {
            for other in &Quantity::ALL[..index] {
                assert_ne!(quantity.name(), other.name());
                assert_ne!(quantity.definition().row, other.definition().row);
            }
        }
    }
}
