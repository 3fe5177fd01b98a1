use super::template::Text;
use serde::{Deserialize, Serialize};

/// One entry of `[[variants]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VariantFile {
    pub(crate) cc: Text,
    /// Its connections, where they are not as many as the matrix's `flows`.
    pub(crate) flows: Option<Text>,
    /// When they start, after the begin of the round; a bare number is seconds.
    pub(crate) start: Option<Text>,
    /// How much longer than the link their own path is.
    pub(crate) extra_delay: Option<Text>,
    /// The most that each of their streams sends, where it is not the matrix's `bitrate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bitrate: Option<Text>,
    /// How often each of their sender's datagrams is on the wire.
    pub(crate) duplicate: Option<Text>,
}

impl VariantFile {
    /// One that differs from the matrix in its controller alone.
    pub(crate) fn of_controller(cc: Text) -> Self {
        Self {
            cc,
            flows: None,
            start: None,
            extra_delay: None,
            bitrate: None,
            duplicate: None,
        }
    }

    /// Every text but the controller's.
    pub(super) fn others(&self) -> impl Iterator<Item = &Text> {
        let others = [
            &self.flows,
            &self.start,
            &self.extra_delay,
            &self.bitrate,
            &self.duplicate,
        ];
        others.into_iter().flatten()
    }
}
