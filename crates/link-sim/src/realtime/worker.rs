use std::io::{self, PipeReader};
use std::thread::JoinHandle;

/// A thread that runs until it is asked to stop; dropping this stops it and joins the thread.
#[derive(Debug)]
pub(crate) struct Worker {
    running: Option<(io::PipeWriter, JoinHandle<io::Result<()>>)>,
}

impl Worker {
    /// Starts `work`, which has to return when the pipe that it gets is closed at its other end.
    ///
    /// # Errors
    /// When the kernel has no thread or no pipe left.
    pub(crate) fn spawn(
        name: &str,
        work: impl FnOnce(PipeReader) -> io::Result<()> + Send + 'static,
    ) -> io::Result<Self> {
        let (stopped, stop) = io::pipe()?;
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(stopped))?;
        Ok(Self {
            running: Some((stop, thread)),
        })
    }

    pub(crate) fn is_running(&self) -> bool {
        let thread = self.running.as_ref().map(|(_, thread)| thread);
        thread.is_some_and(|thread| !thread.is_finished())
    }

    /// Ends it.
    ///
    /// # Errors
    /// The error that had ended it before.
    ///
    /// # Panics
    /// When it had.
    pub(crate) fn stop(&mut self) -> io::Result<()> {
        let Some((stop, thread)) = self.running.take() else {
            return Ok(());
        };
        drop(stop);
        match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            drop(stop);
            // There is no caller to return its result to.
            let _ = thread.join();
        }
    }
}
