//! Ctrl-C and SIGTERM.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Tells how often the user has asked the program to end: once is a request to end cleanly, twice
/// is one not to wait for anything.
#[derive(Debug, Clone)]
pub(crate) struct Interrupts(watch::Receiver<u32>);

impl Interrupts {
    /// Catches the signals from now on, for the life of the process.
    ///
    /// # Errors
    /// When the system refuses the thread that waits for them, or the handler.
    pub(crate) fn listen() -> io::Result<Self> {
        let (count, interrupts) = watch::channel(0);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        let mut signals = runtime.block_on(async { Signals::new() })?;
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                runtime.block_on(async {
                    while signals.next().await {
                        count.send_modify(|count| *count += 1);
                    }
                });
            })?;
        Ok(Self(interrupts))
    }

    /// Waits until the user has asked `times` times, counted from the program's start.
    pub(crate) async fn wait(&self, times: u32) {
        let mut count = self.0.clone();
        if count.wait_for(|count| *count >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether the user has asked at all.
    pub(crate) fn is_interrupted(&self) -> bool {
        *self.0.borrow() > 0
    }
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Whether there will be more.
    async fn next(&mut self) -> bool {
        tokio::select! {
            one = self.interrupt.recv() => one.is_some(),
            one = self.terminate.recv() => one.is_some(),
        }
    }
}
