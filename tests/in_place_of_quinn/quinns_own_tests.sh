#!/usr/bin/env bash
# Runs quinn's own tests, as the crate on crates.io has them, on Paceline in quinn's place, and
# builds quinn's examples. Nothing of quinn is kept here: its sources are those that cargo downloads
# for tests/side_by_side, and what they need around them is written to target/quinns-own-tests.
# No line of them changes.
set -euo pipefail
cd "$(dirname "$0")"

# How many tests the version has that tests/side_by_side locks.
readonly EXPECTED=21

target=$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-../../target}")
package=$target/quinns-own-tests

. ./published_quinn.sh

mkdir -p "$package/src"
cp Cargo.lock "$package/Cargo.lock"
# What quinn's tests find in their crate.
cat >"$package/src/lib.rs" <<RUST
pub use quinn::*;
pub use std::time::{Duration, Instant};
pub mod runtime {
    pub use quinn::TokioRuntime;
}
#[cfg(test)]
#[path = "$published/src/tests.rs"]
mod tests;
RUST
cat >"$package/Cargo.toml" <<TOML
[package]
name = "quinns-own-tests"
version = "0.0.0"
edition = "2021"
publish = false
autoexamples = false

[workspace]

[patch.crates-io]
quinn = { path = "$(realpath ../../crates/quinn-shim)" }

[features]
default = ["rustls-ring"]
rustls-ring = []
rustls-aws-lc-rs = []

[dependencies]
quinn = "0.11"
proto = { package = "quinn-proto", version = "0.11", default-features = false }

[dev-dependencies]
anyhow = "1"
bytes = "1"
clap = { version = "4", features = ["derive"] }
directories-next = "2"
rand = "0.10"
rcgen = "0.14"
rustls = { version = "0.23", default-features = false, features = ["ring", "std"] }
tokio = { version = "1", features = ["macros", "rt-multi-thread", "sync", "time"] }
tracing = "0.1"
tracing-futures = { version = "0.2", default-features = false, features = ["std-future"] }
tracing-subscriber = { version = "0.3", features = ["env-filter"] }
url = "2"

[profile.dev]
debug = false
TOML
for example in "$published"/examples/*.rs; do
    printf '\n[[example]]\nname = "quinns-%s"\npath = "%s"\n' \
        "$(basename "$example" .rs)" "$example" >>"$package/Cargo.toml"
done

export CARGO_TARGET_DIR=$target
cd "$package"
cargo build --quiet --examples
# They use one port, so one after the other.
for example in connection insecure_connection single_socket; do
    if ! timeout 60 "$target/debug/examples/quinns-$example" >output 2>&1; then
        cat output >&2
        echo "quinn's example $example fails or takes a minute: mend what it says above" >&2
        exit 1
    fi
done
# Its three long tests, which quinn leaves out by default, as well.
cargo test --lib -- --include-ignored 2>&1 | tee "$package/output"

passed=$(sed -n 's/^test result: ok\. \([0-9]*\) passed; 0 failed; 0 ignored.*/\1/p' output)
echo "quinn's own tests ($(basename "$published")): ${passed:-not all, or none,} of $EXPECTED pass"
if [[ $passed != "$EXPECTED" ]]; then
    echo "the number of tests that pass is not $EXPECTED: mend what fails above, or if quinn has" \
        "other tests now, set EXPECTED in $0" >&2
    exit 1
fi
