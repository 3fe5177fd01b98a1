//! See bench-kit.
fn main() {}
