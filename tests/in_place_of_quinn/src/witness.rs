//! Proof that connections are Paceline's: it logs a span for each, and quinn has none of that name.

use std::fmt;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Watches for connections from now on. To be called before there are any.
pub(crate) fn install() {
    // One test of the program is the first.
    let _ = tracing::subscriber::set_global_default(Watch(AtomicU64::new(1)));
}

/// Panics unless Paceline has made a connection to `server`.
pub(crate) fn assert_has_client_of(server: SocketAddr) {
    let port = format!(":{}", server.port());
    let seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |span: &String| span.contains("side=Client") && span.ends_with(&port);
    assert!(seen.iter().any(is_it), "none of {seen:?} is to {server}");
}

/// The fields of each connection's span: `side=Client remote=127.0.0.1:4433`.
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Watch(AtomicU64);

impl Subscriber for Watch {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("paceline")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        if span.metadata().name() == "connection" {
            let mut fields = Fields(String::new());
            span.record(&mut fields);
            let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push(fields.0);
        }
        Id::from_u64(self.0.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if ["side", "remote"].contains(&field.name()) {
            write!(self.0, " {field}={value:?}").expect("a string takes all");
        }
    }
}

/// `[patch]` would be of no effect if the lock file had the registry's quinn as well.
#[test]
fn the_only_quinn_is_the_one_of_this_repository() {
    let lock = include_str!("../Cargo.lock");
    let packages = lock.split("[[package]]");
    let quinns: Vec<&str> = packages
        .filter(|package| package.contains("name = \"quinn\"\n"))
        .collect();
    assert_eq!(quinns.len(), 1, "{quinns:?}");
    assert!(!quinns[0].contains("source ="), "{}", quinns[0]);
    assert!(quinns[0].contains("\"paceline\","), "{}", quinns[0]);
    for dependent in ["h3-quinn", "libp2p-quic", "reqwest", "wtransport"] {
        let is_it = |package: &&str| package.contains(&format!("name = \"{dependent}\"\n"));
        let package = lock.split("[[package]]").find(is_it);
        let package = package.unwrap_or_else(|| panic!("{dependent} is a dependency"));
        assert!(package.contains("\"quinn\",") && package.contains("source ="));
    }
}
