use core::fmt;

/// Writes those of a discipline's parameters, each a name, its value and the usual one, that are
/// not as usual, as `text` has them.
pub(super) fn write_changed<T: Copy + PartialEq, D: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    text: impl Fn(T) -> D,
    parameters: &[(&str, T, T)],
) -> fmt::Result {
    let mut changed = parameters.iter().filter(|(_, value, usual)| value != usual);
    changed.try_for_each(|(name, value, _)| write!(f, " {name} {}", text(*value)))
}

/// The names of those flags that are set.
pub(super) fn set<const N: usize>(
    flags: [(&'static str, bool); N],
) -> impl Iterator<Item = &'static str> {
    let set = flags.into_iter().filter(|(_, is_set)| *is_set);
    set.map(|(name, _)| name)
}
