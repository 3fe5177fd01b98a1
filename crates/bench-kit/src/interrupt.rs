//! Ctrl-C, SIGTERM, and the end of the terminal.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Counts how often the user has asked the program to end: once is a request to end cleanly, twice
/// is one not to wait for anything.
#[derive(Debug, Clone)]
pub struct Interrupts(watch::Receiver<u32>);

impl Interrupts {
    /// Catches the signals from now on, for the life of the process.
    ///
    /// # Errors
    /// When the system refuses the thread that waits for them, or the handler.
    pub fn listen() -> io::Result<Self> {
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
    pub async fn wait(&self, times: u32) {
        let mut count = self.0.clone();
        if count.wait_for(|count| *count >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether the user has asked at all.
    pub fn is_interrupted(&self) -> bool {
        *self.0.borrow() > 0
    }
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` where the program is to outlive its terminal, as under nohup.
    hang_up: Option<Signal>,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: match hangs_up() {
                true => Some(signal(SignalKind::hangup())?),
                false => None,
            },
        })
    }

    async fn next(&mut self) -> bool {
        tokio::select! {
            one = self.interrupt.recv() => one.is_some(),
            one = self.terminate.recv() => one.is_some(),
            Some(one) = next_of(&mut self.hang_up) => one.is_some(),
        }
    }
}

async fn next_of(signal: &mut Option<Signal>) -> Option<Option<()>> {
    Some(signal.as_mut()?.recv().await)
}

/// Whether SIGHUP was not ignored when the program began; where the system does not say, it is
/// left as it is.
fn hangs_up() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // Signal 1 is bit 0.
        mask.is_some_and(|mask| mask & 1 == 0)
    })
}
