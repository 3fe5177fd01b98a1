//! Cells over a network that a program outside shapes.

use super::cell::CellPlan;
use crate::client::Remote;
use bench_kit::plan::Direction;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A server elsewhere, and who shapes the way to it.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) remote: Box<Remote>,
    /// Before each cell it is run with two arguments: the link towards the server and the one back.
    pub(crate) shaper: PathBuf,
}

impl Network {
    /// Gives the network the links of `cell`, and returns what the program printed.
    ///
    /// # Errors
    /// When the program did not succeed, in its own last words.
    pub(super) fn shape(&self, cell: &CellPlan) -> Result<String, String> {
        let links = [&cell.links.link, &cell.links.return_link].map(ToString::to_string);
        let [there, back] = match cell.direction {
            Direction::Reverse => [&links[1], &links[0]],
            _ => [&links[0], &links[1]],
        };
        let shaper = self.shaper.display();
        let mut command = Command::new(&self.shaper);
        let shaped = command.args([there, back]).stdin(Stdio::null()).output();
        let shaped = shaped.map_err(|error| format!("{shaper}: {error}"))?;
        let [out, errors] =
            [shaped.stdout, shaped.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        if shaped.status.success() {
            return Ok(out + &errors);
        }
        let last_words = errors.lines().rfind(|line| !line.trim().is_empty());
        Err(match last_words {
            Some(line) => line.to_owned(),
            None => format!("{shaper}: {}", shaped.status),
        })
    }
}
