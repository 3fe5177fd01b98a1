//! Which secret serves when.

use crate::crypto_provider::hkdf::{HKDF_SHA256, Prk, Salt};
use crate::crypto_provider::hmac;
use crate::quic_lb::hex;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The secrets of a fleet at one time, ready for use.
pub(in crate::quic_lb) struct Schedule {
    /// In seconds.
    overlap: u32,
    reset: hmac::Key,
    /// At least one; times and numbers rise.
    epochs: Vec<Epoch>,
}

impl Schedule {
    pub(super) fn parse(text: &[u8]) -> Result<Self, SecretsError> {
        let text = std::str::from_utf8(text);
        let text = text.map_err(|error| SecretsError::NotText(error.valid_up_to()))?;
        let mut draft = ScheduleBuilder::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            draft.read(line).map_err(|problem| SecretsError::Line {
                line: index + 1,
                problem,
            })?;
        }
        draft.finish()
    }

    pub(in crate::quic_lb) fn sealing(&self, now: u64) -> &Epoch {
        let begun = self.epochs.iter().rev().find(|epoch| epoch.from <= now);
        begun.unwrap_or(&self.epochs[0])
    }

    /// The epoch that an octet behind something sealed means, if it is still taken.
    pub(in crate::quic_lb) fn opening(&self, now: u64, key_id: u8) -> Option<&Epoch> {
        let index = self
            .epochs
            .iter()
            .position(|epoch| epoch.key_id() == key_id)?;
        let is_over = |next: &Epoch| now >= next.from.saturating_add(self.overlap.into());
        let is_taken = !self.epochs.get(index + 1).is_some_and(is_over);
        is_taken.then(|| &self.epochs[index])
    }

    /// How long something sealed is taken at least, in seconds.
    pub(in crate::quic_lb) fn overlap(&self) -> u32 {
        self.overlap
    }

    pub(in crate::quic_lb) fn reset(&self) -> &hmac::Key {
        &self.reset
    }
}

impl fmt::Debug for Schedule {
    /// Without the secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let epochs = self.epochs.iter().map(|epoch| (epoch.number, epoch.from));
        f.debug_struct("Schedule")
            .field("overlap", &self.overlap)
            .field("epochs", &epochs.collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

pub(in crate::quic_lb) struct Epoch {
    number: u32,
    /// Unix time from which it seals.
    from: u64,
    keys: [Prk; Purpose::ALL.len()],
}

impl Epoch {
    fn new(number: u32, from: u64, secret: &Secret) -> Self {
        let info = number.to_be_bytes();
        Self {
            number,
            from,
            keys: Purpose::ALL.map(|purpose| {
                Prk::new_less_safe(HKDF_SHA256, &derive(secret, purpose.label(), &info))
            }),
        }
    }

    pub(in crate::quic_lb) fn number(&self) -> u32 {
        self.number
    }

    /// Distinguishes it from its neighbours.
    pub(in crate::quic_lb) fn key_id(&self) -> u8 {
        self.number.to_be_bytes()[3]
    }

    pub(in crate::quic_lb) fn key(&self, purpose: Purpose) -> &Prk {
        &self.keys[purpose as usize]
    }
}

/// What something is sealed for. Nothing of one purpose can be opened for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::quic_lb) enum Purpose {
    Token,
    Ticket,
    Session,
}

impl Purpose {
    pub(in crate::quic_lb) const ALL: [Self; 3] = [Self::Token, Self::Ticket, Self::Session];

    pub(in crate::quic_lb) fn label(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Ticket => "ticket",
            Self::Session => "session",
        }
    }
}

type Secret = [u8; 32];

/// HKDF (RFC 5869) without a salt: a secret is random already.
fn derive(secret: &Secret, label: &str, info: &[u8]) -> Secret {
    let mut key = [0; 32];
    let info = [b"paceline fleet ", label.as_bytes(), b" ", info];
    let prk = Salt::new(HKDF_SHA256, &[]).extract(secret);
    let expanded = prk.expand(&info, HKDF_SHA256);
    let filled = expanded.and_then(|material| material.fill(&mut key));
    filled.expect("32 bytes are one block of HKDF-SHA-256");
    key
}

/// A schedule of which not all lines have been read.
#[derive(Default)]
struct ScheduleBuilder {
    overlap: Option<u32>,
    reset: Option<hmac::Key>,
    epochs: Vec<Epoch>,
}

impl ScheduleBuilder {
    fn read(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => Ok(()),
            ["overlap", seconds] => once(&mut self.overlap, "overlap", overlap(seconds)?),
            ["reset", secret] => {
                let key = derive(&read_secret(secret)?, "reset", &[]);
                once(
                    &mut self.reset,
                    "reset",
                    hmac::Key::new(hmac::HMAC_SHA256, &key),
                )
            }
            ["epoch", epoch, "from", time, secret] => self.add(
                number(epoch, "an epoch's number")?,
                number(time, "a Unix time in seconds")?,
                &read_secret(secret)?,
            ),
            // Not quoted: it may be a secret.
            _ => Err(format!("expected {FORMS}")),
        }
    }

    fn add(&mut self, number: u32, from: u64, secret: &Secret) -> Result<(), String> {
        if self.epochs.len() == MAX_EPOCHS {
            return Err(format!("expected {MAX_EPOCHS} epochs at most"));
        }
        if let Some(last) = self.epochs.last() {
            if number <= last.number {
                return Err(format!(
                    "epoch {number}: expected more than {}",
                    last.number
                ));
            }
            if from <= last.from {
                return Err(format!("time {from}: expected later than {}", last.from));
            }
        }
        let epoch = Epoch::new(number, from, secret);
        let mut earlier = self.epochs.iter();
        if let Some(same) = earlier.find(|earlier| earlier.key_id() == epoch.key_id()) {
            let same = same.number;
            return Err(format!("epoch {number}: expected less than {same} + 256"));
        }
        self.epochs.push(epoch);
        Ok(())
    }

    fn finish(self) -> Result<Schedule, SecretsError> {
        if self.epochs.is_empty() {
            return Err(SecretsError::Missing("epoch NUMBER from TIME SECRET"));
        }
        Ok(Schedule {
            overlap: self
                .overlap
                .ok_or(SecretsError::Missing("overlap SECONDS"))?,
            reset: self.reset.ok_or(SecretsError::Missing("reset SECRET"))?,
            epochs: self.epochs,
        })
    }
}

fn once<T>(place: &mut Option<T>, word: &str, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("more than one line `{word}`; remove all but one")),
    }
}

fn overlap(text: &str) -> Result<u32, String> {
    let seconds = number(text, "seconds")?;
    if !(1..=MAX_OVERLAP).contains(&seconds) {
        return Err(format!(
            "overlap {seconds}: expected 1 to {MAX_OVERLAP} seconds"
        ));
    }
    Ok(seconds)
}

fn number<T: FromStr>(text: &str, what: &str) -> Result<T, String> {
    // Not quoted: a word out of place may be a secret.
    text.parse().map_err(|_| format!("expected {what}"))
}

fn read_secret(text: &str) -> Result<Secret, String> {
    let mut secret = [0; 32];
    hex::decode(text, &mut secret).map_err(|problem| format!("secret: {problem}"))?;
    Ok(secret)
}

/// These are not secrets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SecretsError {
    /// A line cannot be read, or does not go with those before it.
    #[error("line {line}: {problem}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong and what was expected.
        problem: String,
    },
    /// There is no such line.
    #[error("missing line `{0}`")]
    Missing(&'static str),
    /// There are other characters than those of UTF-8.
    #[error("not UTF-8 text: byte {0}")]
    NotText(usize),
}

const FORMS: &str = "`overlap SECONDS`, `reset SECRET` or `epoch NUMBER from TIME SECRET`";

/// A week, the longest that a ticket is good (RFC 8446 §4.6.1).
const MAX_OVERLAP: u32 = 7 * 86_400;

const MAX_EPOCHS: usize = 16;

#[cfg(test)]
mod tests;
