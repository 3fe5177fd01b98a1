#!/usr/bin/env bash
# quinn by the endpoint of tests/interop/endpoints. `quinn.sh prepare` builds it.
set -Eeuo pipefail
built=${STACKS:?where what is built is kept}/endpoints

if [[ ${1:-} == prepare ]]; then
    package=$(dirname "$(readlink -f "$0")")/../endpoints
    exec cargo build --quiet --release --locked --manifest-path "$package/Cargo.toml" \
        --target-dir "$built" --bin quinn_endpoint
fi

exec "$built/release/quinn_endpoint"
