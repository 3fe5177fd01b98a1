//! The cubic function and the one cube root of this crate.

use units::{Bytes, Gain};

/// W_cubic(t) = C·(t − K)³ + W_max (RFC 9438 §4.2, figures 1 and 2), in bytes: C is times the
/// packet size.
///
/// Time is held in units of 2⁻²⁰ s, just under a microsecond. That makes every product a product
/// of integers and every quotient a shift, so that a window is the same on every machine. K is
/// rounded down to a unit, which moves the window by less than a byte for windows below 1 GB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Curve {
    /// W_max: the window at t = K.
    plateau: Bytes,
    /// K in 2⁻²⁰ s.
    k: u64,
    /// C × packet size in 10⁻⁶ bytes/s³.
    steepness: u64,
}

impl Curve {
    /// The curve that begins at window `start` and has its plateau at `plateau`, or at `start`
    /// where that is higher: then K is zero.
    pub(super) fn new(start: Bytes, plateau: Bytes, c: Gain, mss: Bytes) -> Self {
        let steepness = c.millionths().saturating_mul(mss.get()).max(1);
        Self {
            plateau: plateau.max(start),
            k: time_to_rise(plateau.saturating_sub(start), steepness),
            steepness,
        }
    }

    /// The window so many nanoseconds after the curve began, rounded towards the plateau. It never
    /// falls with time.
    pub(super) fn window_at(&self, nanos: u64) -> Bytes {
        let time = ticks(nanos);
        let rise = self.rise(time.abs_diff(self.k));
        if time < self.k {
            self.plateau.saturating_sub(rise)
        } else {
            self.plateau.saturating_add(rise)
        }
    }

    /// C × |t − K|³, rounded down.
    fn rise(&self, distance: u64) -> Bytes {
        let distance = distance.min(MAX_DISTANCE);
        // At most 2⁹³ · 2⁻³⁰: the low half of the fraction is worth 10⁻⁶ bytes.
        let cube = (u128::from(distance * distance) * u128::from(distance)) >> 30;
        let millionths = (cube * u128::from(self.steepness)) >> 30;
        Bytes::new(u64::try_from(millionths).unwrap_or(u64::MAX) / 1_000_000)
    }
}

/// K: the time in 2⁻²⁰ s in which a curve of this steepness rises by `rise`.
fn time_to_rise(rise: Bytes, steepness: u64) -> u64 {
    let millionths = u128::from(rise.get().min(MAX_RISE)) * 1_000_000;
    cube_root((millionths << 60) / u128::from(steepness))
}

/// ∛value, rounded down: one bit of the root after the other, highest first.
fn cube_root(value: u128) -> u64 {
    let mut root = 0_u64;
    for bit in (0..=ROOT_BITS).rev() {
        let candidate = root | (1 << bit);
        let wide = u128::from(candidate);
        if wide * wide * wide <= value {
            root = candidate;
        }
    }
    root
}

/// 2⁻²⁰ s, rounded down.
fn ticks(nanos: u64) -> u64 {
    (nanos.min(MAX_NANOS) << 20) / 1_000_000_000
}

/// 2,048 s: with C = 0.4 and packets of 1,500 bytes the window has then risen by 5 TB.
const MAX_DISTANCE: u64 = 1 << 31;
/// 140 TB, so that K fits 64 bits.
const MAX_RISE: u64 = 1 << 47;
/// The highest bit of a root whose cube has 127 bits.
const ROOT_BITS: u32 = 41;
/// Nearly five hours, whose shift still fits 64 bits.
const MAX_NANOS: u64 = u64::MAX >> 20;

#[cfg(test)]
mod tests {
    use super::*;

    const C: Gain = Gain::new(4, 10);
    const MSS: Bytes = Bytes::new(1_500);

    /// The same function in floating point, in segments.
    fn closed_form(start: f64, plateau: f64, t: f64) -> f64 {
        let k = ((plateau - start) / 0.4).cbrt();
        0.4 * (t - k).powi(3) + plateau
    }

    #[test]
    fn the_curve_is_the_closed_form_to_the_byte() {
        for segments in [10_u64, 100, 1_000, 100_000, 600_000] {
            let (start, plateau) = (segments * 7 / 10, segments);
            let curve = Curve::new(MSS * start, MSS * plateau, C, MSS);
            for tenths in 0..600_u64 {
                let t = tenths as f64 / 10.0;
                let expected = closed_form(start as f64, plateau as f64, t) * 1_500.0;
                let window = curve.window_at(tenths * 100_000_000).get() as f64;
                // K's rounding moves a curve by at most 3·C·K²·2⁻²⁰ s.
                let k = (0.3 * segments as f64 / 0.4).cbrt();
                let tolerance = 1.5 + 3.0 * 600.0 * (t + k).powi(2) / 1e6;
                assert!(
                    (window - expected).abs() <= tolerance,
                    "{segments} {t}: {window} {expected}"
                );
            }
        }
    }

    #[test]
    fn it_begins_at_its_start_and_reaches_the_plateau_at_k() {
        let curve = Curve::new(MSS * 700, MSS * 1_000, C, MSS);
        let begin = curve.window_at(0);
        assert!(
            (MSS * 700..=MSS * 700 + Bytes::new(2)).contains(&begin),
            "{begin}"
        );
        // K = ∛(300 / 0.4) s.
        let k = 9_085_603_000;
        assert_eq!(curve.window_at(k), MSS * 1_000);
    }

    #[test]
    fn a_start_above_the_plateau_only_rises() {
        let curve = Curve::new(MSS * 100, MSS * 50, C, MSS);
        assert_eq!(curve.window_at(0), MSS * 100);
        assert_eq!(curve.window_at(10_000_000_000), MSS * 500);
    }

    #[test]
    fn cube_roots_are_exact() {
        for root in [0_u64, 1, 2, 3, 999, 1 << 20, (1 << 42) - 1] {
            let cube = u128::from(root).pow(3);
            assert_eq!(cube_root(cube), root);
            assert_eq!(cube_root(cube + 1), root.max(u64::from(root == 0)));
            assert_eq!(cube_root(cube.saturating_sub(1)), root.saturating_sub(1));
        }
    }

    #[test]
    fn the_longest_time_and_the_largest_window_are_only_numbers() {
        let curve = Curve::new(Bytes::ZERO, Bytes::MAX, Gain::new(4, 1), Bytes::new(65_535));
        assert!(curve.window_at(0) <= curve.window_at(u64::MAX));
        let flat = Curve::new(Bytes::ZERO, Bytes::ZERO, Gain::ZERO, Bytes::new(1));
        assert!(flat.window_at(u64::MAX) <= Bytes::new(100_000));
    }
}
