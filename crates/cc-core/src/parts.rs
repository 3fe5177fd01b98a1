//! What several controllers are built of. Nothing here imports a controller.

pub(crate) mod ack_aggregation;
pub(crate) mod cwnd;
pub(crate) mod cwnd_pacing;
pub(crate) mod fast_recovery;
pub(crate) mod fixed_rate;
pub(crate) mod full_bandwidth;
pub(crate) mod hystart;
pub(crate) mod loss_based;
pub(crate) mod prr;
pub(crate) mod recovery_period;
pub(crate) mod remainder;
pub(crate) mod round;
pub(crate) mod sliding_min;
pub(crate) mod transition;
pub(crate) mod windowed_max;
