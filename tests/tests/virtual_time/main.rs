//! Virtual time with many flows: shared, chained and partly shared links, traffic in both
//! directions, and the same run everywhere.

mod competition;
mod recorded;
mod topology;
