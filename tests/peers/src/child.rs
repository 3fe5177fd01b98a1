//! The child side: a server or a client, in a process and on a thread of its own.

use crate::protocol::{Assignment, Message, Role};
#[cfg(feature = "quiche")]
use crate::stack::Quiche;
use crate::stack::{Name, Paceline, Quinn, S2nQuic, Stack};
use crate::{Result, client, server};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::io::Write;
use std::os::fd::AsFd;
use std::process::ExitCode;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::unix::pipe;

/// Lines from the program that started this one, read by the runtime that runs the stack.
pub(crate) type Orders = Lines<BufReader<pipe::Receiver>>;

/// Does what standard input says. A failure is told to the parent, too.
pub(crate) fn run() -> Result<ExitCode> {
    // A parent that is killed takes its children with it.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    if let Err(error) = runtime.block_on(obey()) {
        say(&Message::Failed(error.to_string()))?;
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

async fn obey() -> Result<()> {
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let mut orders = BufReader::new(pipe::Receiver::from_owned_fd(input)?).lines();
    let assignment = orders.next_line().await?.ok_or("no assignment")?;
    let assignment: Assignment = serde_json::from_str(&assignment)?;
    match assignment.stack {
        Name::Paceline | Name::Cubic | Name::Before => play::<Paceline>(assignment, orders).await,
        Name::Quinn => play::<Quinn>(assignment, orders).await,
        Name::S2nQuic => play::<S2nQuic>(assignment, orders).await,
        #[cfg(feature = "quiche")]
        Name::Quiche => play::<Quiche>(assignment, orders).await,
    }
}

async fn play<S: Stack>(assignment: Assignment, orders: Orders) -> Result<()> {
    let Assignment {
        settings,
        certificate,
        role,
        ..
    } = assignment;
    match role {
        Role::Server { key, welcome } => {
            server::serve::<S>(&settings, &certificate, &key, welcome, orders).await
        }
        Role::Client { port, job } => {
            client::work::<S>(&settings, &certificate, port, job, orders).await
        }
    }
}

/// Tells the parent.
pub(crate) fn say(message: &Message) -> Result<()> {
    let mut output = std::io::stdout().lock();
    serde_json::to_writer(&mut output, message)?;
    writeln!(output)?;
    Ok(output.flush()?)
}

/// The first argument of a child.
pub(crate) const ARGUMENT: &str = "child";
