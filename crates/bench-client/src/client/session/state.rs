use super::super::connect::ClientSetup;
use bench_kit::close_reason;
use bench_kit::interrupt::Interrupts;
use bench_kit::plan::Plan;
use bench_kit::wire::{PROTOCOL_ERROR, unknown_field};
use paceline::{Connection, ConnectionError, VarInt};
use std::net::SocketAddr;
use tokio::sync::watch;

/// One connection of a run.
pub(in crate::client) struct Session<'a> {
    pub(in crate::client) setup: &'a ClientSetup,
    /// This connection's part of the plan.
    pub(in crate::client) plan: &'a Plan,
    /// The number of the connection, from 0.
    pub(in crate::client) flow: usize,
    pub(in crate::client) interrupts: &'a Interrupts,
    pub(in crate::client) connection: &'a Connection,
    /// The address of its socket.
    pub(in crate::client) socket: SocketAddr,
    /// Why the run failed, as the first of its connections said it: all of them end by that.
    pub(in crate::client) failed: &'a watch::Sender<Option<String>>,
}

impl Session<'_> {
    pub(super) fn fail(&self, error: &str) {
        self.failed.send_if_modified(|failed| {
            let is_first = failed.is_none();
            failed.get_or_insert_with(|| error.to_owned());
            is_first
        });
    }

    /// Waits until another connection has failed.
    pub(super) async fn others(&self) -> String {
        let mut failed = self.failed.subscribe();
        let failed = failed.wait_for(Option::is_some).await;
        let failed = failed.expect("the sender is borrowed");
        failed.clone().unwrap_or_default()
    }

    /// The same where the server had only the plan to answer.
    pub(super) fn refused(&self, error: &ConnectionError) -> String {
        let older = match error {
            ConnectionError::ApplicationClosed(close)
                if close.error_code == VarInt::from_u32(PROTOCOL_ERROR) =>
            {
                let reason = String::from_utf8_lossy(&close.reason);
                unknown_field(&reason).map(older_server)
            }
            _ => None,
        };
        older.map_or_else(
            || self.lost(error),
            |why| format!("{} {why}", self.setup.remote),
        )
    }

    pub(super) fn lost(&self, error: &ConnectionError) -> String {
        close_reason::lost(
            error,
            &self.setup.remote.to_string(),
            self.setup.idle_timeout,
        )
    }
}

/// What to do where a server does not know a part of the plan.
fn older_server(field: &str) -> String {
    let known = OPTIONS.iter().find(|(name, ..)| *name == field);
    match known {
        Some((_, option, instead)) => format!(
            "is older than this bench-client and does not know {option}; update bench-server, or \
             {instead}"
        ),
        None => format!(
            "is older than this bench-client and does not know the plan's `{field}`; use the same \
             version on both sides"
        ),
    }
}

/// Parts of a plan that older servers do not know, what asks for them, and what to do without.
const OPTIONS: [(&str, &str, &str); 11] = [
    ("window_follows", "-w auto", "set a size, such as -w 32M"),
    ("media", "--source", "leave it out"),
    ("at_most", "a time limit beside -n or -F", "leave it out"),
    ("requests", "--ping and --rpm", "leave them out"),
    ("datagrams", "-u", "leave it out"),
    ("server_output", "--get-server-output", "leave it out"),
    ("digest", "-F", "send generated data without -F"),
    ("zeros", "-Z", "leave it out"),
    ("turn", "--wait", "leave it out"),
    ("dscp", "-S and --dscp", "leave them out"),
    ("continued", "--continue", "leave it out"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use bench_kit::plan::{Datagrams, Extras, Media, Requests, Turn};
    use std::time::Duration;

    #[test]
    fn what_an_older_server_lacks_is_named_by_its_option() {
        assert_eq!(
            older_server("window_follows"),
            "is older than this bench-client and does not know -w auto; update bench-server, or \
             set a size, such as -w 32M"
        );
        assert!(older_server("later").contains("does not know the plan's `later`; use the same"));
    }

    #[test]
    fn every_extra_of_a_plan_has_its_option() {
        let all = Extras {
            zeros: true,
            digest: true,
            continued: 1,
            server_output: Some(Duration::ZERO),
            datagrams: Some(Datagrams::default()),
            media: Some(Media {
                video: "video:2mbit,30fps,key=2s".parse().unwrap(),
                late: Duration::ZERO,
                bulk: false,
            }),
            requests: Some(Requests {
                interval: Duration::ZERO,
                under_load: false,
            }),
            at_most: Some(Duration::ZERO),
            window_follows: true,
            turn: Some(Turn {
                run: 1,
                patience: Duration::ZERO,
            }),
            dscp: 1,
        };
        let all = serde_json::to_value(all).unwrap();
        for field in all.as_object().unwrap().keys() {
            let why = older_server(field);
            assert!(!why.contains("the plan's"), "{why}");
        }
    }
}
