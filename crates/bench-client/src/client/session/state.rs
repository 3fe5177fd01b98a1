use super::super::connect::ClientSetup;
use bench_kit::close_reason;
use bench_kit::interrupt::Interrupts;
use bench_kit::plan::Plan;
use paceline::Connection;
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

    pub(super) fn lost(&self, error: &paceline::ConnectionError) -> String {
        close_reason::lost(
            error,
            &self.setup.remote.to_string(),
            self.setup.idle_timeout,
        )
    }
}
