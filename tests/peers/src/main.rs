//! Paceline beside quinn, s2n-quic and, with the feature `quiche`, quiche: the same work over
//! loopback, in the same run.
//!
//! ```text
//!   peers ── rows × rounds × stacks ──▶ two children for each: a server and a client
//!     │                                   one thread and one runtime each, `child`
//!     ├─ stdin:  an `Assignment`, then "sample" and "go"
//!     └─ stdout: `Message`s, one line of JSON each
//! ```
//!
//! The work is written once, in `server` and `client`, over the traits of `stack`, which each
//! library implements. `rows` says what is done and which figures come of it; `parent` plays a
//! round and measures the machine around it; `table` and `report` show the results.
//! `docs/measuring.md`, "Beside other stacks", has the method.

mod args;
mod check;
mod child;
mod client;
mod machine;
mod parent;
mod profile;
mod protocol;
mod report;
mod rows;
mod server;
mod settings;
mod stack;
mod table;
mod wire;

use clap::Parser;
use std::process::ExitCode;

/// Errors cross tasks, and end in a line of text.
type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, Error>;

fn main() -> ExitCode {
    let outcome = if std::env::args().nth(1).as_deref() == Some(child::ARGUMENT) {
        child::run()
    } else {
        parent::run(&args::Args::parse())
    };
    match outcome {
        Ok(code) => code,
        Err(error) if is_of_output(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether whoever read the table has gone.
fn is_of_output(error: &Error) -> bool {
    let of_output = error.downcast_ref::<std::io::Error>();
    of_output.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
