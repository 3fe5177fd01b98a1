use core::ops::RangeInclusive;

/// Reads whole numbers of a `range`, as a value parser of clap's; what is none of them is answered
/// by its bounds.
///
/// # Panics
/// The parser does, where a number of the `range` is none of `T`'s.
pub fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        let (least, most) = (range.start(), range.end());
        let number: u64 =
            number.ok_or_else(|| format!("expected a whole number from {least} to {most}"))?;
        Ok(T::try_from(number).ok().expect("the range is one of T's"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_of_the_range_is_answered_by_its_bounds() {
        let port = whole::<u16>(1..=65_535);
        assert_eq!((port("1"), port("65535")), (Ok(1), Ok(65_535)));
        for wrong in ["", "x", "0", "-1", "1.5", "65536", "99999999999999999999"] {
            let told = "expected a whole number from 1 to 65535";
            assert_eq!(port(wrong), Err(told.to_owned()), "{wrong}");
        }
        assert_eq!(whole::<u64>(0..=u64::MAX)("0"), Ok(0));
    }
}
