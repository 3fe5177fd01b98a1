# shellcheck shell=bash
# Where the sources of quinn 0.11 are that cargo downloads for tests/side_by_side: `published`.
# To be sourced in this folder.
manifest=$(cargo metadata --locked --format-version 1 --manifest-path ../side_by_side/Cargo.toml |
    grep -o '"manifest_path":"[^"]*/quinn-0\.11\.[0-9]*/Cargo\.toml"' | cut -d '"' -f 4 | sort -u)
if [[ ! -f $manifest ]]; then
    echo "there is not one quinn 0.11 among what tests/side_by_side depends on: '$manifest';" \
        "see its Cargo.toml" >&2
    exit 1
fi
# Who sources this file reads it.
# shellcheck disable=SC2034
published=${manifest%/Cargo.toml}
