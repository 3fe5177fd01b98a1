use super::*;
use crate::args;
use std::io::Write as _;

/// The longest and fastest run for a client at `address` of a server with these flags.
fn allowed(flags: &[&str], address: &str) -> (u64, Option<u64>) {
    let words = ["bench-server"].iter().chain(flags).map(Into::into);
    let args = args::parse(words).unwrap();
    let setup = setup(&args, &Registry::standard(), Ipv4Addr::LOCALHOST.into()).unwrap();
    let shared = crate::shared::Shared::new(setup, (Ipv4Addr::LOCALHOST, 0).into(), log());
    let limits = shared.limits(address.parse().unwrap());
    let rate = (limits.rate < Bandwidth::MAX).then_some(limits.rate.bits_per_sec());
    (limits.duration.as_secs(), rate)
}

#[test]
fn strangers_have_a_limit_of_time_and_rate_unless_there_is_a_token() {
    let own = [
        "127.0.0.1",
        "::1",
        "10.9.8.7",
        "172.31.0.1",
        "192.168.1.1",
        "169.254.0.1",
        "100.127.0.1",
        "fe80::1",
        "fd00::1",
        "::ffff:10.0.0.1",
    ];
    for address in own {
        assert_eq!(allowed(&[], address), (3_600, None), "{address}");
    }
    let public = [
        "8.8.8.8",
        "100.128.0.1",
        "172.32.0.1",
        "2001:4860::8888",
        "::ffff:8.8.8.8",
    ];
    for address in public {
        assert_eq!(allowed(&[], address), (60, Some(100_000_000)), "{address}");
        let flags = ["--max-rate", "2G", "--max-duration", "300s"];
        assert_eq!(
            allowed(&flags, address),
            (300, Some(2_000_000_000)),
            "{address}"
        );
    }
    let file = std::env::temp_dir().join(format!("paceline-token-{}", std::process::id()));
    let mut token = std::fs::File::create(&file).unwrap();
    token.write_all(&[b'x'; 32]).unwrap();
    let flags = ["--token", file.to_str().unwrap()];
    assert_eq!(allowed(&flags, "8.8.8.8"), (3_600, None));
    std::fs::remove_file(file).unwrap();
}
