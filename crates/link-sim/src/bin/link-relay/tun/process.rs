use super::kernel::end_with_this_thread;
use super::namespace::Namespace;
use core::time::Duration;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::{io, thread};
use tokio::sync::oneshot;

/// A program that runs at one end of the link. It does not outlive this one; what it starts may.
#[derive(Debug)]
pub(super) struct Process {
    id: Pid,
    ended: oneshot::Receiver<io::Result<ExitStatus>>,
}

impl Process {
    /// Starts `command` in `namespace`.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub(super) async fn start(namespace: &Arc<Namespace>, command: Command) -> io::Result<Self> {
        let (tell_start, started) = oneshot::channel();
        let (tell_end, ended) = oneshot::channel();
        let namespace = Arc::clone(namespace);
        // A process is in the namespace of the thread that started it, and ends with that thread.
        thread::Builder::new().spawn(move || match spawn_in(&namespace, command) {
            Ok(mut child) => {
                let id = Pid::from_child(&child);
                // Whoever does not listen any more does not want to know.
                let _ = tell_start.send(Ok(id));
                let _ = tell_end.send(child.wait());
            }
            Err(error) => {
                let _ = tell_start.send(Err(error));
            }
        })?;
        let id = started.await.map_err(io::Error::other)??;
        Ok(Self { id, ended })
    }

    /// Waits for its end; the answer is its exit code as a shell has it.
    pub(super) async fn end(&mut self) -> io::Result<u8> {
        let status = (&mut self.ended).await.map_err(io::Error::other)??;
        Ok(shell_code(status))
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(
            self.ended.try_recv(),
            Err(oneshot::error::TryRecvError::Empty)
        )
    }

    pub(super) fn signal(&self, signal: Signal) {
        // It fails when the process has just ended, which is as good.
        let _ = kill_process(self.id, signal);
    }

    /// Asks the process and all others of its group to end, and makes those that do not.
    pub(super) async fn end_group(mut self) {
        let _ = kill_process_group(self.id, Signal::TERM);
        let _ = tokio::time::timeout(GRACE, &mut self.ended).await;
        let _ = kill_process_group(self.id, Signal::KILL);
    }
}

fn spawn_in(namespace: &Namespace, mut command: Command) -> io::Result<std::process::Child> {
    namespace.enter()?;
    end_with_this_thread(&mut command);
    command.spawn()
}

/// A program that a signal has ended has 128 and the signal's number.
fn shell_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}

/// For a program to end in order.
const GRACE: Duration = Duration::from_secs(2);
