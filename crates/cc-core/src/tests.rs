//! The two drivers of unit tests: of a whole [`Flow`](crate::Flow), and of a controller alone.

pub(crate) mod controller_driver;
pub(crate) mod flow_driver;

use crate as api;
