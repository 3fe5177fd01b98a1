//! The part of one side in a run.

use crate::plan::Plan;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role {
    pub sends: bool,
    pub receives: bool,
    /// Sends the requests of a plan that has any; else it answers them.
    pub asks: bool,
}

impl Role {
    pub fn of_client(plan: &Plan) -> Self {
        let has_payload = !plan.extras.is_idle();
        Self {
            sends: has_payload && plan.direction.client_sends(),
            receives: has_payload && plan.direction.server_sends(),
            asks: true,
        }
    }

    pub fn of_server(plan: &Plan) -> Self {
        let client = Self::of_client(plan);
        Self {
            sends: client.receives,
            receives: client.sends,
            asks: false,
        }
    }

    /// Whether this side's clock starts by itself, not with what the other sends.
    pub fn begins(self, plan: &Plan) -> bool {
        self.sends || (self.asks && plan.extras.is_idle())
    }
}
