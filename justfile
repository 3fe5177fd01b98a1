# What CI runs, on this machine.
default:
    .ci/run

# Single parts of it: tools, fmt, clippy, doc, scripts, package, test.
ci *PARTS:
    .ci/run {{PARTS}}

# The repository's own rules alone.
tidy:
    cargo test -p e2e --test repository -- --skip no_std

# CUBIC against Paceline over an emulated lossy link; `just ab --help` shows what can be changed.
ab *ARGS:
    cargo run --release -p bench-client -- ab {{ARGS}}

# A controller against itself, a hundred times: how often the A/B test's interval contains a ratio of one.
aa SEEDS="100":
    PACELINE_AA_SEEDS={{SEEDS}} cargo test -p e2e --test programs against_itself -- --nocapture

# NewReno, another beta and CUBIC against the response function at five rates of random loss, in virtual time: a minute or two.
response:
    PACELINE_RESPONSE=1 cargo test -p e2e --test programs response_function -- --nocapture

# Nanoseconds per acked packet, and what else there is; `just bench -p paceline-cc-core`.
bench *ARGS:
    cargo bench {{ARGS}}

# Every test with other random numbers: seeds begin at this one instead of 1. A failing simulation prints it.
sim-seed SEED *ARGS:
    PACELINE_SEED={{SEED}} cargo test --workspace {{ARGS}}

# Every controller through this many operations of any kind, with overflow checks on.
ops COUNT="100000000" SEED="1":
    PACELINE_OPS={{COUNT}} PACELINE_SEED={{SEED}} nice cargo test -p paceline-cc-core --profile checked --test any_history as_long -- --nocapture

# Endpoints for ten minutes at full rate over changing links, and 10,000 connections opened and closed: no stall, no leak.
soak SECONDS="600" CONNECTIONS="10000":
    PACELINE_SOAK_SECONDS={{SECONDS}} PACELINE_CONNECTIONS={{CONNECTIONS}} cargo test -p e2e --release --test endurance -- --nocapture

# Endpoints, links and somebody on the path, each world drawn from a seed, in virtual time: so many worlds, or `just chaos 1h`.
chaos WORLDS="10000" SEED="1":
    PACELINE_CHAOS_SEEDS={{WORLDS}} PACELINE_SEED={{SEED}} nice cargo test -p e2e --test quic_virtual whatever_the_seed -- --nocapture

# How exactly a sender keeps rates from 64 kbit/s to 5 Gbit/s on this machine: rate, and bytes in the fullest window.
pacing *ARGS:
    cargo run --release -p paceline --example pacing -- {{ARGS}}

# What more shards bring: `just shards scale` on a machine with 8 CPUs or more, `just shards model` anywhere.
shards *ARGS:
    cargo run --release -p paceline --example shards -- {{ARGS}}

# An honest transfer beside valid Initial packets from many addresses: goodput, RTT, Retries and what was shed; `just flood --rate 20000`.
flood *ARGS:
    cargo run --release -p paceline --example initial_flood -- {{ARGS}}

# The C header of crates/cc-ffi, made of its sources.
header:
    PACELINE_WRITE_HEADER=1 cargo test -p paceline-cc-ffi --test header

# noq under our controllers and its own, over one emulated link: goodput and RTT. `just noq --help` shows what can be changed.
noq *ARGS:
    cargo run --release --manifest-path crates/noq/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" --example compare -- {{ARGS}}

# noq's own perf program, of a clone of its repository, under our controllers and its own over loopback: docs/noq.md.
noq-perf CHECKOUT ROUNDS="5" SECONDS="8":
    crates/noq/perf/run.sh {{CHECKOUT}} {{ROUNDS}} {{SECONDS}}

# picoquic, of a clone of its repository, under our controllers and its own in its simulator: docs/c-abi.md.
picoquic CHECKOUT PICOTLS="":
    crates/cc-ffi/picoquic/run.sh {{CHECKOUT}} {{PICOTLS}}

# quinn's own tests and examples, as published, on Paceline in quinn's place: docs/porting-from-quinn.md.
quinn-tests:
    tests/in_place_of_quinn/quinns_own_tests.sh

# What quinn's public interface has and ours has not, item by item: docs/porting-from-quinn.md. `--write` renews the list.
quinn-api *ARGS:
    tests/in_place_of_quinn/quinn_api.sh {{ARGS}}

# Paceline beside quinn and s2n-quic over loopback; `just peers --rounds 1 --scale 0.02` shows in a minute whether it works.
peers *ARGS:
    cargo run --release --manifest-path tests/peers/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" -- {{ARGS}}

# The same with quiche, whose BoringSSL takes cmake, a C++ compiler, libclang and minutes to build.
peers-quiche *ARGS:
    cargo run --release --features quiche --manifest-path tests/peers/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" -- {{ARGS}}

# The tests of the transport and of the C ABI under AddressSanitizer, with the stable compiler.
asan *ARGS:
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address cargo test -p paceline --features testing --target {{arch()}}-unknown-linux-gnu --target-dir target/asan --lib --test loopback {{ARGS}}
    RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address cargo test -p paceline-cc-ffi --target {{arch()}}-unknown-linux-gnu --target-dir target/asan --lib --test calls {{ARGS}}

# The tests of unsafe memory under Miri: `rustup toolchain install nightly -c miri,rust-src`.
miri *ARGS:
    cargo +nightly miri test -p paceline --lib --target-dir target/miri endpoint::receive {{ARGS}}

# libFuzzer for ten minutes: `just fuzz controllers`, `link`, `message`, `parse`, `peer`, `recording` or `tap`. cargo-fuzz has to be there.
fuzz TARGET SECONDS="600":
    mkdir -p fuzz/corpus/{{TARGET}}
    RUSTC_BOOTSTRAP=1 cargo fuzz run -O {{TARGET}} fuzz/corpus/{{TARGET}} fuzz/regressions/{{TARGET}} -- -max_total_time={{SECONDS}} -max_len=1600 -len_control=0 -timeout=10 -dict=fuzz/link.dict

# 200 clients at once on one server for half a minute, as fast as they can.
crowd SECONDS="30" RATE="0":
    PACELINE_CROWD_SECONDS={{SECONDS}} PACELINE_CROWD_RATE={{RATE}} cargo test -p e2e --release --test programs crowd -- --nocapture

# 1,000 clients that come, go, crash and cheat for an hour: the release server's memory does not grow, and honest clients lose nothing.
siege SECONDS="3600" CLIENTS="1000":
    PACELINE_SIEGE_SECONDS={{SECONDS}} PACELINE_SIEGE_CLIENTS={{CLIENTS}} cargo test -p e2e --release --test programs siege -- --nocapture

# A sender that is stopped for PAUSE of PERIOD ms, as with a quota of CPU time, over 100 Mbit/s and 30 ms.
pauses PAUSE="50" PERIOD="100" *CONTROLLERS="paceline bbr3 cubic":
    tests/pauses.sh {{PAUSE}} {{PERIOD}} {{CONTROLLERS}}

# Real netem between network namespaces: `just netem "delay 20ms rate 100mbit" ping -c 3 10.77.0.2`.
[positional-arguments]
netem LINK +COMMAND:
    link=$1; shift; netem-scripts/run.sh "$link" -- "$@"

# The pages of docs/scorecards: every controller by the criteria of RFC 9743, in virtual time; ten minutes of two cores.
scorecards *ARGS:
    cargo run --release -p bench-client -- scorecard --all docs/scorecards {{ARGS}}

# A controller on groups of paths for tuning, in the small simulator: two minutes for all of them.
cells *ARGS:
    cargo run --release -p paceline-flow-sim --example cells -- {{ARGS}}

# What `paceline` promises, criterion by criterion, in virtual time: ten minutes of two cores.
promises *ARGS:
    cargo run --release -p bench-client -- scorecard paceline --criteria scenarios/paceline.toml --output docs/scorecards/paceline-promises.md {{ARGS}}

# Our endpoint and those of quic-go, aioquic, ngtcp2, quinn, s2n-quic, quiche and Chromium as each other's clients and servers: writes the table of docs/interop.md.
interop PLACE="target/interop":
    PACELINE_INTEROP="$(realpath -m {{PLACE}})" cargo test -p e2e --test programs interop -- --nocapture --test-threads 1

# The packages as the registry would get them, in target/package, each built from what was packed.
package *ARGS:
    cargo package --workspace --exclude e2e --exclude playground {{ARGS}}

# The programs, linked statically, for any Linux: `rustup target add x86_64-unknown-linux-musl`, and musl's C compiler (Debian: musl-tools).
release TARGET="x86_64-unknown-linux-musl":
    cargo build --release --locked --target {{TARGET}} -p bench-client -p bench-server -p paceline-link-sim --bins

# Whether the oldest Rust that is promised compiles everything: `rustup toolchain install 1.88 --profile minimal`.
msrv:
    cargo +1.88 check --workspace --locked --target-dir target/msrv

# Whether the libraries' interfaces changed more than the version number says, against a commit or tag: `cargo install cargo-semver-checks`.
semver BASE:
    cargo semver-checks --baseline-rev {{BASE}} -p paceline-units -p paceline-cc-core -p paceline-link-sim -p paceline

# How fast the playground simulates in Chromium, pictures included, for 60 s at 50 Mbit/s.
playground-speed:
    PACELINE_PLAYGROUND_SPEED=1 cargo test -p playground --test in_a_browser twenty_times -- --nocapture

# The playground as static files in playground/dist: any web server may serve them.
playground:
    cargo build --locked --profile web --target wasm32-unknown-unknown --package playground
    mkdir -p playground/dist
    cp playground/web/* "${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/web/playground.wasm" playground/dist/
