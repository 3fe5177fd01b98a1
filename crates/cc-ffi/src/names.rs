//! The names of the controllers.

use cc_core::Registry;
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

/// The name at this index, in the registry's order; `None` behind the last one.
pub(crate) fn name(index: usize) -> Option<&'static CStr> {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let registry = Registry::standard();
        let names = registry.specs().iter().map(|spec| spec.name);
        // No name has a zero in it; one that had could not be chosen from C.
        names.filter_map(|name| CString::new(name).ok()).collect()
    });
    names.get(index).map(CString::as_c_str)
}
