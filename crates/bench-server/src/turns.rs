//! Whose turn it is where only so many runs may go on at once.

use crate::admission::ClientPrefix;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// What a run is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RunKey {
    /// The network of its client, and a number that its connections share.
    Shared(ClientPrefix, u64),
    /// The session of its only connection.
    Single(u64),
}

/// The runs of a server that go on, and those that wait in the order in which they came. Whoever
/// waits has a permit of the server's, which bounds how many they are.
#[derive(Debug)]
pub(crate) struct Turns {
    /// `None` lets everybody go on.
    most: Option<u32>,
    state: Mutex<State>,
    /// Changes whenever a run ends or no longer waits.
    changes: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Connections of each run that goes on; none is zero.
    running: BTreeMap<RunKey, u32>,
    /// Connections of each run that waits.
    waiting: VecDeque<(RunKey, u32)>,
}

/// All turns are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Busy {
    /// How many runs go on.
    running: usize,
    /// How long it was waited for a turn.
    waited: Duration,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = if self.running == 1 { "run" } else { "runs" };
        write!(f, "busy with {} {runs}, as many as it takes", self.running)?;
        if self.waited.is_zero() {
            f.write_str("; try again later, or wait for a turn with --wait 60s")
        } else {
            let waited = units::duration::display(self.waited);
            write!(f, ", for {waited}; try again later, or raise --wait")
        }
    }
}

impl Turns {
    /// Turns for `most` runs at once; `None` is any number.
    pub(crate) fn new(most: Option<u32>) -> Self {
        Self {
            most,
            state: Mutex::default(),
            changes: watch::Sender::default(),
        }
    }

    /// Whether anybody may have to wait.
    pub(crate) fn are_limited(&self) -> bool {
        self.most.is_some()
    }

    /// Asks for the turn of run `key`, for which it may wait as long as `patience` lasts.
    pub(crate) fn ask(self: &Arc<Self>, key: RunKey, patience: Duration) -> Asked {
        Asked {
            turns: Arc::clone(self),
            key,
            patience,
            until: Instant::from_std(bench_kit::clock::now()) + patience,
            // From before the first look on, so that no change is missed.
            changes: self.changes.subscribe(),
            place: None,
            told: None,
        }
    }

    /// The turn, if it has come; for a connection that waits, with its `place`.
    fn try_enter(self: &Arc<Self>, key: RunKey, place: Option<&Place>) -> Option<Turn> {
        let mut state = self.state();
        let has_room = self
            .most
            .is_none_or(|most| state.running.len() < most as usize);
        let is_next = match state.waiting.front() {
            Some((first, _)) => *first == key && place.is_some(),
            None => true,
        };
        let is_due = state.running.contains_key(&key) || (has_room && is_next);
        if !is_due {
            return None;
        }
        *state.running.entry(key).or_default() += 1;
        Some(Turn {
            turns: Arc::clone(self),
            key,
        })
    }

    /// How many runs go on before it is the turn of one that waits.
    fn ahead(&self, key: RunKey) -> usize {
        let state = self.state();
        let mut waiting = state.waiting.iter();
        let place = waiting.position(|(waiting, _)| *waiting == key);
        state.running.len() + place.unwrap_or(0)
    }

    /// It counts, and no panic makes its counts wrong.
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that wants a turn.
#[derive(Debug)]
pub(crate) struct Asked {
    turns: Arc<Turns>,
    key: RunKey,
    patience: Duration,
    until: Instant,
    changes: watch::Receiver<()>,
    place: Option<Place>,
    /// How many runs were ahead when that was last told.
    told: Option<usize>,
}

/// What becomes of a connection that wants a turn.
#[derive(Debug)]
pub(crate) enum TurnAnswer {
    /// So many runs are ahead.
    Wait(usize),
    /// It goes on.
    Turn(Turn),
    /// Its turn has not come in time.
    Busy(Busy),
}

impl Asked {
    /// The next news; the last ones are [`TurnAnswer::Turn`] and [`TurnAnswer::Busy`].
    pub(crate) async fn answer(&mut self) -> TurnAnswer {
        let mut is_late = self.patience.is_zero();
        loop {
            if let Some(turn) = self.turns.try_enter(self.key, self.place.as_ref()) {
                self.place = None;
                return TurnAnswer::Turn(turn);
            }
            if is_late {
                return TurnAnswer::Busy(Busy {
                    running: self.turns.state().running.len(),
                    waited: self.patience,
                });
            }
            if self.place.is_none() {
                self.place = Some(Place::take(&self.turns, self.key));
            }
            let ahead = self.turns.ahead(self.key);
            if self.told.replace(ahead) != Some(ahead) {
                return TurnAnswer::Wait(ahead);
            }
            is_late = timeout_at(self.until, self.changes.changed())
                .await
                .is_err();
        }
    }
}

/// The turn of one connection of a run, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    key: RunKey,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        if let Some(connections) = state.running.get_mut(&self.key) {
            *connections -= 1;
            if *connections == 0 {
                state.running.remove(&self.key);
            }
        }
        drop(state);
        self.turns.changes.send_replace(());
    }
}

/// The place of a connection among those that wait, given up when it is dropped.
#[derive(Debug)]
struct Place {
    turns: Arc<Turns>,
    key: RunKey,
}

impl Place {
    fn take(turns: &Arc<Turns>, key: RunKey) -> Self {
        let mut state = turns.state();
        match state
            .waiting
            .iter_mut()
            .find(|(waiting, _)| *waiting == key)
        {
            Some((_, connections)) => *connections += 1,
            None => state.waiting.push_back((key, 1)),
        }
        drop(state);
        Self {
            turns: Arc::clone(turns),
            key,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        let mut waiting = state.waiting.iter();
        if let Some(place) = waiting.position(|(waiting, _)| *waiting == self.key) {
            let connections = &mut state.waiting[place].1;
            *connections -= 1;
            if *connections == 0 {
                state.waiting.remove(place);
            }
        }
        drop(state);
        self.turns.changes.send_replace(());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn key(run: u64) -> RunKey {
        RunKey::Shared(ClientPrefix::of([192, 0, 2, 1].into()), run)
    }

    /// The turn of a run, once it has come, or why it has not.
    async fn turn(turns: &Arc<Turns>, run: u64, patience: Duration) -> Result<Turn, Busy> {
        let mut asked = turns.ask(key(run), patience);
        loop {
            match asked.answer().await {
                TurnAnswer::Wait(_) => {}
                TurnAnswer::Turn(turn) => return Ok(turn),
                TurnAnswer::Busy(busy) => return Err(busy),
            }
        }
    }

    async fn at_once(turns: &Arc<Turns>, run: u64) -> Result<Turn, Busy> {
        turn(turns, run, Duration::ZERO).await
    }

    /// How many are ahead.
    async fn wait(asked: &mut Asked) -> usize {
        match asked.answer().await {
            TurnAnswer::Wait(ahead) => ahead,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn runs_have_their_turns_in_the_order_in_which_they_came() {
        let turns = Arc::new(Turns::new(Some(1)));
        let first = at_once(&turns, 1).await.unwrap();
        let [mut second, mut third] = [2, 3].map(|run| turns.ask(key(run), LONG));
        assert_eq!(wait(&mut second).await, 1);
        assert_eq!(wait(&mut third).await, 2);
        drop(first);
        // Whoever comes last does not overtake those who wait.
        assert_eq!(at_once(&turns, 4).await.unwrap_err().running, 0);
        assert_eq!(wait(&mut third).await, 1);
        let TurnAnswer::Turn(turn) = second.answer().await else {
            panic!("the second waits");
        };
        drop(turn);
        assert!(matches!(third.answer().await, TurnAnswer::Turn(_)));
        at_once(&turns, 4).await.unwrap();
    }

    #[tokio::test]
    async fn the_connections_of_a_run_have_one_turn_together() {
        let turns = Arc::new(Turns::new(Some(1)));
        let other = at_once(&turns, 1).await.unwrap();
        let [mut one, mut two] = [2, 2].map(|run| turns.ask(key(run), LONG));
        assert_eq!(wait(&mut one).await, 1);
        assert_eq!(wait(&mut two).await, 1);
        drop(other);
        let one = one.answer().await;
        let two = two.answer().await;
        assert_eq!(turns.state().running.len(), 1);
        drop(one);
        assert!(at_once(&turns, 3).await.is_err());
        drop(two);
        at_once(&turns, 3).await.unwrap();
        assert!(turns.state().waiting.is_empty());
    }

    #[tokio::test]
    async fn whoever_loses_patience_leaves_no_place_behind() {
        let turns = Arc::new(Turns::new(Some(1)));
        let busy = at_once(&turns, 1).await.unwrap();
        let refused = at_once(&turns, 2).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "busy with 1 run, as many as it takes; try again later, or wait for a turn with --wait \
             60s"
        );
        let refused = turn(&turns, 2, Duration::from_millis(1)).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "busy with 1 run, as many as it takes, for 1ms; try again later, or raise --wait"
        );
        // One that is gone while it waits.
        let mut gone = turns.ask(key(3), LONG);
        assert_eq!(wait(&mut gone).await, 1);
        drop(gone);
        assert!(turns.state().waiting.is_empty());
        drop(busy);
        at_once(&turns, 4).await.unwrap();
    }

    #[tokio::test]
    async fn without_a_limit_nobody_waits() {
        let turns = Arc::new(Turns::new(None));
        let mut all = Vec::new();
        for run in 0..1_000 {
            all.push(at_once(&turns, run).await.unwrap());
        }
        assert_eq!(turns.state().running.len(), 1_000);
        all.clear();
        assert!(turns.state().running.is_empty());
    }
}
