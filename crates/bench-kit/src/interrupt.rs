//! Ctrl-C, SIGTERM, and the end of the terminal.
//!
//! A thread of its own waits for them, which no task of a run can block. It ends the process where
//! nothing else does: at the second signal, and at the first one if the program has promised an
//! [answer](Interrupts::expect_answer) and does not give it in time.

use crate::{clock, terminal};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

/// Counts how often the user has asked the program to end: once is a request to end cleanly, twice
/// is one not to wait for anything.
#[derive(Debug, Clone)]
pub struct Interrupts {
    count: watch::Receiver<u32>,
    expects_answer: Arc<AtomicBool>,
}

impl Interrupts {
    /// Catches the signals from now on, for the life of the process.
    ///
    /// # Errors
    /// When the system refuses the thread that waits for them, or the handler.
    pub fn listen() -> io::Result<Self> {
        let (sender, count) = watch::channel(0);
        let expects_answer = Arc::new(AtomicBool::new(false));
        // The runtime takes six file descriptors, and panics where it gets none for signals.
        drop([io::pipe()?, io::pipe()?, io::pipe()?]);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let signals = runtime.block_on(async { Signals::new() })?;
        let expected = Arc::clone(&expects_answer);
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || runtime.block_on(watch_over(signals, &sender, &expected)))?;
        Ok(Self {
            count,
            expects_answer,
        })
    }

    /// Waits until the user has asked `times` times, counted from the program's start.
    pub async fn wait(&self, times: u32) {
        let mut count = self.count.clone();
        if count.wait_for(|count| *count >= times).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the user has asked twice, or once and `patience` has passed since: what goes on
    /// then is to be dropped.
    pub async fn overdue(&self, patience: Duration) {
        self.wait(1).await;
        let _ = timeout(patience, self.wait(2)).await;
    }

    /// Whether the user has asked at all.
    pub fn is_interrupted(&self) -> bool {
        *self.count.borrow() > 0
    }

    /// Ends the process [`ANSWER`] after a signal unless the guard has been dropped by then: for
    /// what may block the thread that would end the program cleanly.
    #[must_use]
    pub fn expect_answer(&self) -> ExpectedAnswer {
        self.expects_answer.store(true, Ordering::SeqCst);
        ExpectedAnswer(Arc::clone(&self.expects_answer))
    }
}

/// Until it is dropped, a signal that is not answered in time ends the process.
#[derive(Debug)]
pub struct ExpectedAnswer(Arc<AtomicBool>);

impl Drop for ExpectedAnswer {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// What the process does before it is ended by a signal: gives the terminal back, for example. The
/// first that is set counts. It may block; then the process ends without it.
pub fn before_exit(act: fn()) {
    let _ = BEFORE_EXIT.set(act);
}

/// Counts the signals, and ends the process where the program does not.
async fn watch_over(mut signals: Signals, count: &watch::Sender<u32>, expected: &AtomicBool) {
    let mut due: Option<(Instant, i32)> = None;
    loop {
        let at = due.map(|(at, _)| at);
        let end = at.unwrap_or_else(|| Instant::from_std(clock::now()));
        tokio::select! {
            biased;
            signal = signals.next() => {
                let Some(signal) = signal else { return };
                count.send_modify(|count| *count += 1);
                let wait = if *count.borrow() == 1 { ANSWER } else { AT_ONCE };
                let end = Instant::from_std(clock::now()) + wait;
                due = Some((at.map_or(end, |at| at.min(end)), signal.as_raw_value()));
            }
            () = sleep_until(end), if at.is_some() => {
                let is_asked_twice = *count.borrow() > 1;
                if let Some((_, signal)) = due.take()
                    && (is_asked_twice || expected.load(Ordering::SeqCst))
                {
                    exit(is_asked_twice, signal);
                }
            }
        }
    }
}

/// Ends the process as a shell reports one that this signal has ended.
fn exit(is_asked_twice: bool, signal: i32) -> ! {
    let (said, is_said) = mpsc::channel();
    // Neither the terminal nor a pipe that nobody reads keeps the process from ending.
    let _ = std::thread::Builder::new().spawn(move || {
        if let Some(act) = BEFORE_EXIT.get() {
            act();
        }
        if !is_asked_twice {
            terminal::note(format_args!(
                "error: interrupted, and the run did not end within {ANSWER:?}; what was not \
                 written yet is lost"
            ));
        }
        let _ = said.send(());
    });
    let _ = is_said.recv_timeout(LAST_WORDS);
    std::process::exit(128 + signal)
}

static BEFORE_EXIT: OnceLock<fn()> = OnceLock::new();

/// How long a program may take for its clean end where an answer is expected.
pub const ANSWER: Duration = Duration::from_millis(900);

/// How long it may take at the second signal.
const AT_ONCE: Duration = Duration::from_millis(200);

const LAST_WORDS: Duration = Duration::from_millis(50);

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

    /// The next of them.
    async fn next(&mut self) -> Option<SignalKind> {
        let (came, signal) = tokio::select! {
            one = self.interrupt.recv() => (one, SignalKind::interrupt()),
            one = self.terminate.recv() => (one, SignalKind::terminate()),
            Some(one) = next_of(&mut self.hang_up) => (one, SignalKind::hangup()),
        };
        came.map(|()| signal)
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
