#!/usr/bin/env bash
# s2n-quic by the endpoint of tests/interop/endpoints. `s2n-quic.sh prepare` builds it.
set -Eeuo pipefail
built=${STACKS:?where what is built is kept}/endpoints

if [[ ${1:-} == prepare ]]; then
    package=$(dirname "$(readlink -f "$0")")/../endpoints
    exec cargo build --quiet --release --locked --manifest-path "$package/Cargo.toml" \
        --target-dir "$built" --bin s2n_quic_endpoint
fi

exec "$built/release/s2n_quic_endpoint"
