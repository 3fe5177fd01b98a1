//! When a run may begin.

use super::state::{Fault, Session};
use crate::turns::{RunKey, Turn, TurnAnswer};
use bench_kit::plan::Plan;
use bench_kit::wire::Reply;
use paceline::{Connection, SendStream};
use std::time::Duration;

impl Session {
    /// The turn of the run, once it comes; the client is told how many are ahead. Without it, why
    /// it has not come.
    pub(super) async fn turn(
        &self,
        connection: &Connection,
        plan: &Plan,
        send: &mut SendStream,
    ) -> Result<Result<Turn, String>, Fault> {
        let asked = plan.extras.turn;
        let key = match asked {
            Some(turn) => RunKey::Shared(self.permit.prefix(), turn.run),
            None => RunKey::Single(self.number),
        };
        let patience = asked.map_or(Duration::ZERO, |turn| turn.patience);
        let mut asked = self.shared.turns.ask(key, patience);
        loop {
            let answer = tokio::select! {
                biased;
                _ = connection.closed() => return Err(Fault::Lost),
                answer = asked.answer() => answer,
            };
            let ahead = match answer {
                TurnAnswer::Turn(turn) => return Ok(Ok(turn)),
                TurnAnswer::Busy(busy) => return Ok(Err(busy.to_string())),
                TurnAnswer::Wait(ahead) => u32::try_from(ahead).unwrap_or(u32::MAX),
            };
            self.log(format_args!("waits for its turn behind {ahead}"));
            self.reply(send, &Reply::Waiting(ahead)).await?;
        }
    }
}
