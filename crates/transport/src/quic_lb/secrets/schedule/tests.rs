use super::*;
use proptest::prelude::*;

fn secret(byte: u8) -> String {
    format!("{byte:02x}").repeat(32)
}

fn text(lines: &[String]) -> String {
    let head = format!("overlap 100\nreset {}\n", secret(0xee));
    head + &lines.join("\n")
}

fn epoch(number: u32, from: u64) -> String {
    format!("epoch {number} from {from} {}", secret(0xdd))
}

#[track_caller]
fn assert_error(text: &str, expected: &str) {
    let error = Schedule::parse(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(error, expected);
    assert!(!error.contains(&secret(0xdd)[..4]));
}

#[test]
fn the_last_epoch_that_has_begun_seals() {
    let schedule = Schedule::parse(text(&[epoch(5, 1_000), epoch(6, 2_000)]).as_bytes()).unwrap();
    let sealing = |now| schedule.sealing(now).number();
    assert_eq!(sealing(0), 5, "the first one, though before its time");
    assert_eq!(sealing(1_999), 5);
    assert_eq!(sealing(2_000), 6);
    assert_eq!(sealing(u64::MAX), 6);
}

#[test]
fn an_epoch_is_taken_before_its_time_and_until_the_overlap_is_over() {
    let lines = [epoch(255, 1_000), epoch(256, 2_000), epoch(300, u64::MAX)];
    let schedule = Schedule::parse(text(&lines).as_bytes()).unwrap();
    let opening = |now, key_id| schedule.opening(now, key_id).map(Epoch::number);
    assert_eq!(opening(0, 255), Some(255));
    assert_eq!(opening(0, 0), Some(256));
    assert_eq!(opening(2_099, 255), Some(255));
    assert_eq!(opening(2_100, 255), None);
    assert_eq!(opening(u64::MAX - 1, 0), Some(256));
    assert_eq!(opening(u64::MAX, 44), Some(300), "the last one, for ever");
    assert_eq!(opening(0, 7), None);
}

#[test]
fn every_purpose_and_every_epoch_has_a_key_of_its_own() {
    let schedule = Schedule::parse(text(&[epoch(1, 1), epoch(2, 2)]).as_bytes()).unwrap();
    let mut keys = Vec::new();
    for epoch in &schedule.epochs {
        for purpose in Purpose::ALL {
            let mut key = [0; 32];
            let expanded = epoch.key(purpose).expand(&[b"test"], HKDF_SHA256).unwrap();
            expanded.fill(&mut key).unwrap();
            assert!(!keys.contains(&key), "{purpose:?}");
            keys.push(key);
        }
    }
}

/// HKDF-SHA-256 by another implementation (Python's `hmac` and `hashlib`).
#[test]
fn keys_are_derived_as_documented() {
    let derived = derive(&[1; 32], "token", &7_u32.to_be_bytes());
    assert_eq!(derived[..], DERIVED);
}

#[test]
fn comments_and_empty_lines_mean_nothing() {
    let lines = [
        "# one".to_owned(),
        String::new(),
        epoch(1, 0) + "  # of these",
    ];
    assert!(Schedule::parse(text(&lines).as_bytes()).is_ok());
    assert!(Schedule::parse(text(&lines).replace('\n', "\r\n").as_bytes()).is_ok());
}

#[test]
fn errors_name_the_line_and_what_is_wrong_with_it() {
    let one = |line: &str| text(&[line.to_owned()]);
    assert_error(&one(""), "missing line `epoch NUMBER from TIME SECRET`");
    assert_error(&epoch(1, 0), "missing line `overlap SECONDS`");
    assert_error(
        &format!("overlap 1\n{}", epoch(1, 0)),
        "missing line `reset SECRET`",
    );
    assert_error(
        &one(&secret(0xdd)),
        "line 3: expected `overlap SECONDS`, `reset SECRET` or `epoch NUMBER from TIME SECRET`",
    );
    assert_error(
        &one(&epoch(1, 0)[..70]),
        "line 3: secret: expected 64 hexadecimal digits, found 55",
    );
    assert_error(
        &one(&epoch(1, 0).replace("ddd", "ddx")),
        "line 3: secret: character 3 is not a hexadecimal digit",
    );
    assert_error(
        &one(&epoch(1, 0).replace("epoch 1", "epoch 4294967296")),
        "line 3: expected an epoch's number",
    );
    assert_error(
        &one(&epoch(1, 0).replace("from 0", "from now")),
        "line 3: expected a Unix time in seconds",
    );
    assert_error(
        &one("overlap 5"),
        "line 3: more than one line `overlap`; remove all but one",
    );
    assert_error(
        &format!("reset {0}\nreset {0}", secret(1)),
        "line 2: more than one line `reset`; remove all but one",
    );
    assert_error(
        "overlap 0",
        "line 1: overlap 0: expected 1 to 604800 seconds",
    );
    assert_error("overlap day", "line 1: expected seconds");
    assert_error(
        &text(&[epoch(1, 5), epoch(1, 6)]),
        "line 4: epoch 1: expected more than 1",
    );
    assert_error(
        &text(&[epoch(1, 5), epoch(2, 5)]),
        "line 4: time 5: expected later than 5",
    );
    assert_error(
        &text(&[epoch(1, 5), epoch(257, 6)]),
        "line 4: epoch 257: expected less than 1 + 256",
    );
    let many: Vec<_> = (1..=17).map(|n| epoch(n, n.into())).collect();
    assert_error(&text(&many), "line 19: expected 16 epochs at most");
    let error = Schedule::parse(b"# \xff").unwrap_err().to_string();
    assert_eq!(error, "not UTF-8 text: byte 2");
}

#[test]
fn no_secret_is_shown() {
    let text = text(&[epoch(1, 0)]);
    let shown = format!(
        "{:?}",
        crate::quic_lb::Secrets::new(text.as_bytes()).unwrap()
    );
    assert!(shown.contains("overlap: 100"), "{shown}");
    assert!(
        !shown.contains("dd") && !shown.contains("221") && !shown.contains("Prk"),
        "{shown}"
    );
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(
        text in r"((overlap|reset|epoch|from|[0-9a-f]{64}|\PC{0,3}|[0-9]{1,12})[ \n#]){0,20}"
    ) {
        drop(Schedule::parse(text.as_bytes()));
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(Schedule::parse(&bytes));
    }
}

const DERIVED: [u8; 32] = [
    0x38, 0xf4, 0x1d, 0xe2, 0xf4, 0x2c, 0xa6, 0xc5, 0xb7, 0xdf, 0xb6, 0x56, 0xee, 0x07, 0xc9, 0xf7,
    0x07, 0x3b, 0xb2, 0x6d, 0xde, 0x10, 0x6b, 0x6b, 0x66, 0xc0, 0x2e, 0x05, 0x71, 0x0a, 0xf4, 0xe3,
];
