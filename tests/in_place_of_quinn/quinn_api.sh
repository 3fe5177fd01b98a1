#!/usr/bin/env bash
# Compares the public interface of quinn, as the crate on crates.io has it, with those of
# crates/quinn-shim and of paceline, item by item, and their features. It fails when the
# differences are not those in quinn_api.txt, or when the tables of docs/porting-from-quinn.md do
# not name one of them. `quinn_api.sh --write` writes quinn_api.txt.
set -euo pipefail
cd "$(dirname "$0")"

target=$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-../../target}")
package=$target/quinn-api
. ./published_quinn.sh
version=${published##*-}

mkdir -p "$package/docs"
cp Cargo.lock "$package/Cargo.lock"
# Every feature of quinn's that adds a name. FIPS adds none and needs Go.
features='"futures-io", "qlog", "runtime-async-std", "runtime-smol", "rustls-aws-lc-rs"'
cat >"$package/Cargo.toml" <<TOML
[package]
name = "quinn-api"
version = "0.0.0"
edition = "2024"
publish = false

[workspace]

[[bin]]
name = "quinn_api"
path = "$PWD/examples/quinn_api/main.rs"

[dependencies]
published = { package = "quinn", version = "=$version", features = [$features] }
serde_json = "1"
shim = { package = "quinn", path = "$(realpath ../../crates/quinn-shim)", features = [$features] }

[profile.dev]
debug = false
TOML

list=$PWD/quinn_api.txt
page=$(realpath ../../docs/porting-from-quinn.md)
# rustdoc's JSON is there in the nightly compiler, and behind this variable in the stable one. It is
# part of what cargo compares before it builds anew, hence a folder apart from other builds.
export RUSTC_BOOTSTRAP=1
export CARGO_TARGET_DIR=$package/target
cd "$package"

# What rustdoc says of the package $1, whose library is $3, as the file $2.
document() {
    cargo rustdoc --quiet --package "$1" -- \
        -Z unstable-options --output-format json --cap-lints allow
    mv "$CARGO_TARGET_DIR/doc/$3.json" "docs/$2.json"
}

# The shim is the quinn that is no package of a registry.
cargo metadata --format-version 1 >docs/metadata.json
shim=$(grep -o '"id":"path+file:[^"]*quinn-shim#[^"]*"' docs/metadata.json |
    cut -d '"' -f 4 | sort -u)
document "registry+https://github.com/rust-lang/crates.io-index#quinn@$version" published quinn
document "$shim" shim quinn
document quinn-proto quinn_proto quinn_proto
document quinn-udp@0.5 quinn_udp quinn_udp
document paceline paceline paceline
cargo run --quiet --bin quinn_api -- docs "$page" "$list" "$@"
