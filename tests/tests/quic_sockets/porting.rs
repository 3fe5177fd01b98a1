//! Porting from quinn is a change of import: `application.rs` and what it has below it is one
//! source that is compiled twice, with `quinn` for `q` and with `paceline` for `q`. Each scenario
//! is run by both as client and as server, in all four combinations, and what its calls return has
//! to be the same, word for word.
//!
//! `names.rs` calls what the scenarios leave out. Where the meaning differs on purpose,
//! `differences.rs` and docs/porting-from-quinn.md say so.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use paceline::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rcgen::CertifiedKey;
use std::fmt::Debug;
use std::net::{Ipv4Addr, UdpSocket};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// What the calls of a scenario have returned.
type Log = Vec<String>;

/// Notes what a call returns, beside the call.
macro_rules! note {
    ($log:ident, $call:expr) => {
        let line = format!("{} = {:?}", stringify!($call), $call);
        $log.push(line);
    };
}

/// Runs a scenario with the client of one library and the server of another, within a minute.
macro_rules! run {
    ($client:ident, $server:ident, $scenario:ident) => {{
        let identity = Identity::generate();
        let socket = socket();
        let address = socket.local_addr().unwrap();
        let server = $server::application::$scenario::server(&identity, socket);
        let client = $client::application::$scenario::client(&identity, address);
        let both = async { tokio::join!(client, server) };
        let limited = tokio::time::timeout(Duration::from_secs(60), both).await;
        let pair = concat!(stringify!($client), ", ", stringify!($server));
        limited.unwrap_or_else(|_| panic!("{pair}: a minute was not enough"))
    }};
}

mod differences;
mod on_quinn;
mod on_transport;

macro_rules! scenarios {
    ($($scenario:ident)*) => {$(
        #[tokio::test]
        async fn $scenario() {
            let reference = run!(on_quinn, on_quinn, $scenario);
            assert!(reference.0.len() + reference.1.len() > 5, "{reference:?}");
            same("ours", &run!(on_transport, on_transport, $scenario), &reference);
            same("our client", &run!(on_transport, on_quinn, $scenario), &reference);
            same("our server", &run!(on_quinn, on_transport, $scenario), &reference);
        }
    )*};
}

scenarios! {
    attempts
    connecting
    datagrams
    early_data
    endings
    reading
    rebinding
    writing
}

/// A certificate and its key.
#[derive(Debug)]
struct Identity {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Identity {
    fn generate() -> Self {
        let generated = rcgen::generate_simple_self_signed([NAME.to_owned()]);
        let CertifiedKey { cert, signing_key } = generated.unwrap();
        Self {
            certificate: cert.der().clone(),
            key: signing_key.serialize_der(),
        }
    }

    fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::try_from(self.key.clone()).unwrap()
    }
}

/// A socket on the loopback interface.
fn socket() -> UdpSocket {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap()
}

/// What `future` gives at once. It is dropped if that is nothing.
fn at_once<F: Future>(future: F) -> Poll<F::Output> {
    let future = std::pin::pin!(future);
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn same<T: Debug + PartialEq>(whose: &str, got: &(Vec<T>, Vec<T>), quinns: &(Vec<T>, Vec<T>)) {
    for (side, got, quinns) in [("client", &got.0, &quinns.0), ("server", &got.1, &quinns.1)] {
        for (got, quinns) in got.iter().zip(quinns) {
            assert_eq!(got, quinns, "{whose}, at the {side}");
        }
        assert_eq!(got.len(), quinns.len(), "{whose}, at the {side}");
    }
}

/// The name in the certificates.
const NAME: &str = "localhost";
