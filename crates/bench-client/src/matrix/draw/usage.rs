use crate::matrix::template::Text;
use crate::matrix::variant_file::VariantFile;
use serde::{Deserialize, Serialize};

/// One entry of `[[use]]`: how the path of a cell is used, in the place of the matrix's own keys of
/// the same names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UseFile {
    /// What it is called by.
    pub(crate) at: Text,
    /// How likely it is beside the others.
    #[serde(default = "one")]
    pub(crate) weight: u32,
    pub(crate) seconds: Option<Text>,
    pub(crate) omit: Option<Text>,
    pub(crate) bytes: Option<Text>,
    pub(crate) bitrate: Option<Text>,
    pub(crate) bulk_after: Option<Text>,
    #[serde(default)]
    pub(crate) compete: bool,
    /// What shares the path. Those whose `cc` is `{cc}` are the cell's controller, the others its
    /// neighbours. One of `{cc}` alone without.
    #[serde(default)]
    pub(crate) variants: Vec<VariantFile>,
}

fn one() -> u32 {
    1
}

/// The variable that says which.
pub(crate) const USE: &str = "use";
