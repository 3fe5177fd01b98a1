//! A socket of the application's with a real one inside.

#[path = "../../examples/own_socket.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod example;

#[tokio::test]
async fn quic_and_another_protocol_share_a_port() {
    let (bytes, message) = example::share_a_port().await.unwrap();
    assert_eq!(bytes, 1_000_000);
    assert_eq!(message.len(), 20);
    assert_eq!(message[..2], [0, 1]);
}
