//! Queueing disciplines, and which of them keep departure times.

/// One queueing discipline of a device, as `tc qdisc show` lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Qdisc {
    /// In tc's words.
    pub(super) kind: String,
    /// Which class of which qdisc it is in, or [`ROOT`], or [`INGRESS`].
    pub(super) parent: u32,
}

/// Whether what the device sends leaves at its departure time, whichever queue it is put in:
/// `fq` is all there is, or is in each queue of an `mq`.
///
/// Classful qdiscs other than `mq` delay packets themselves, or put some where there is no `fq`.
///
/// # Errors
/// The kind of the first one that ignores departure times; `none` where no qdisc is.
pub(super) fn keep_departure_times(qdiscs: &[Qdisc]) -> Result<(), String> {
    let root = qdiscs.iter().find(|qdisc| qdisc.parent == ROOT);
    let root = root.ok_or_else(|| "none".to_owned())?;
    if root.kind == FQ {
        return Ok(());
    }
    let is_leaf = |qdisc: &&Qdisc| qdisc.parent != ROOT && qdisc.parent != INGRESS;
    let mut leaves = qdiscs.iter().filter(is_leaf).peekable();
    if root.kind != "mq" || leaves.peek().is_none() {
        return Err(root.kind.clone());
    }
    match leaves.find(|leaf| leaf.kind != FQ) {
        Some(other) => Err(format!("mq with {}", other.kind)),
        None => Ok(()),
    }
}

const FQ: &str = "fq";

/// TC_H_ROOT, of what the device sends through first.
pub(super) const ROOT: u32 = 0xffff_ffff;

/// TC_H_INGRESS, of what has to do with packets that come, and of `clsact`, which queues nothing.
pub(super) const INGRESS: u32 = 0xffff_fff1;

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(qdiscs: &[(&str, u32)]) -> Result<(), String> {
        let qdisc = |&(kind, parent): &(&str, u32)| Qdisc {
            kind: kind.to_owned(),
            parent,
        };
        keep_departure_times(&qdiscs.iter().map(qdisc).collect::<Vec<_>>())
    }

    #[test]
    fn fq_alone_or_in_every_queue_keeps_departure_times() {
        for qdiscs in [
            &[("fq", ROOT)][..],
            &[("clsact", INGRESS), ("fq", ROOT)],
            &[("mq", ROOT), ("fq", 1), ("fq", 2)],
            &[("fq", 1), ("ingress", INGRESS), ("mq", ROOT)],
        ] {
            assert_eq!(judge(qdiscs), Ok(()), "{qdiscs:?}");
        }
    }

    #[test]
    fn everything_else_is_named() {
        for (qdiscs, named) in [
            (&[][..], "none"),
            (&[("clsact", INGRESS)], "none"),
            (&[("noqueue", ROOT)], "noqueue"),
            (&[("fq_codel", ROOT)], "fq_codel"),
            (&[("mq", ROOT)], "mq"),
            (
                &[("mq", ROOT), ("fq", 1), ("fq_codel", 2)],
                "mq with fq_codel",
            ),
            (&[("htb", ROOT), ("fq", 0x1_0001)], "htb"),
        ] {
            assert_eq!(judge(qdiscs), Err(named.to_owned()), "{qdiscs:?}");
        }
    }
}
