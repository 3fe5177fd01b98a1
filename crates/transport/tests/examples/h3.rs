//! What the example of a client says of wrong URLs; `tests/tests/quic_sockets` has it fetch.

#[path = "../../examples/h3_client.rs"]
#[expect(dead_code, reason = "a test has no use for `main`")]
mod h3_client;

use h3_client::fetchable;

#[test]
fn a_url_without_https_or_a_host_is_refused_with_what_to_give() {
    for text in [
        "",
        "localhost:4433",
        "/file",
        "http://localhost/file",
        "https://",
    ] {
        let error = fetchable(text).unwrap_err();
        assert!(
            error.ends_with("give one as https://HOST[:PORT]/PATH"),
            "{text}: {error}"
        );
    }
    for text in ["https://localhost/file", "https://[::1]:4433/"] {
        assert!(fetchable(text).is_ok(), "{text}");
    }
}
