#!/usr/bin/env bash
# quiche by the endpoint of tests/interop/endpoints. `quiche.sh prepare` builds it, and BoringSSL.
set -Eeuo pipefail
built=${STACKS:?where what is built is kept}/endpoints

if [[ ${1:-} == prepare ]]; then
    command -v cmake >/dev/null || { echo "no cmake, which BoringSSL is built with" >&2; exit 1; }
    package=$(dirname "$(readlink -f "$0")")/../endpoints
    exec cargo build --quiet --release --locked --manifest-path "$package/Cargo.toml" \
        --target-dir "$built" --bin quiche_endpoint --features quiche
fi

exec "$built/release/quiche_endpoint"
