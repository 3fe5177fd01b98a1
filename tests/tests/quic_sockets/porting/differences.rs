//! The calls whose results differ on purpose, as docs/porting-from-quinn.md has them.

use crate::porting::{Identity, on_quinn, on_transport, socket};
use std::time::Duration;

#[tokio::test]
async fn where_the_meaning_differs_it_is_written_down() {
    let (at_quinns_client, at_quinns_server) = run!(on_quinn, on_quinn, differing);
    let (at_our_client, at_our_server) = run!(on_transport, on_transport, differing);
    for (call, quinns, ours) in [
        ("send.reset(VarInt::from_u32(1))", "Ok(())", "Ok(())"),
        ("stopped.await.ok()", "None", "Some(Ok(None))"),
        ("early.set_priority(5)", "Ok(())", CLOSED),
        ("early.priority()", "Ok(5)", CLOSED),
        ("late.priority()", "Ok(5)", "Ok(0)"),
        ("early.finish()", "Ok(())", CLOSED),
        ("at_once(connection.closed())", "Pending", "Pending"),
        ("accepted.await", "false", "true"),
        ("recv.received_reset().await", "Ok(Some(1))", "Ok(Some(1))"),
        (
            "recv.read(&mut [0; 4]).await",
            "Err(IllegalOrderedRead)",
            "Err(IllegalOrderedRead)",
        ),
        (
            "rest.map(|chunk| chunk.map(|it| it.bytes))",
            "Err(ClosedStream)",
            r#"Ok(Some(b"ordered"))"#,
        ),
        (
            "recv.read(&mut [0; 9]).await",
            "Err(ClosedStream)",
            "Err(Reset(1))",
        ),
    ] {
        let mut at_quinns = at_quinns_client.iter().chain(&at_quinns_server);
        let mut at_ours = at_our_client.iter().chain(&at_our_server);
        let (quinns, ours) = (format!("{call} = {quinns}"), format!("{call} = {ours}"));
        assert!(
            at_quinns.any(|line| *line == quinns),
            "{quinns}, in {at_quinns_client:#?}"
        );
        assert!(
            at_ours.any(|line| *line == ours),
            "{ours}, in {at_our_client:#?}"
        );
    }
}

const CLOSED: &str = "Err(ClosedStream { _private: () })";
