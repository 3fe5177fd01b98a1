//! What a matrix's keys say in one cell.

use super::file::MatrixFile;
use super::template::{Text, Words};
use super::variant_file::VariantFile;
use crate::ab::{AbVariant, MAX_COPIES, MAX_FLOWS};
use crate::defaults::{DEFAULT_LENGTH, DEFAULT_WINDOW};
use crate::emulated::Links;
use bench_kit::cli::{DEFAULT_CONTROLLER, values};
use bench_kit::plan::{Direction, Extras, Limit, Limits, MAX_LENGTH, Plan, step_for, target_rate};
use cc_core::Registry;
use link_sim::LinkSpec;
use std::fmt;
use std::time::Duration;

/// What the keys say where axes have these words. Errors name the key.
pub(super) struct Conditions<'a> {
    pub(super) matrix: &'a MatrixFile,
    pub(super) words: &'a Words,
    /// How far apart the samples of a round are, where that is not as usual.
    pub(super) step: Option<Duration>,
}

impl Conditions<'_> {
    pub(super) fn links(&self) -> Result<Links, String> {
        let link = |key| self.value(key, LinkSpec::default(), str::parse);
        Ok(Links {
            link: link("link")?,
            return_link: link("return_link")?,
        })
    }

    pub(super) fn direction(&self) -> Result<Direction, String> {
        self.value("direction", Direction::Forward, |text| match text {
            "forward" => Ok(Direction::Forward),
            "reverse" => Ok(Direction::Reverse),
            other => Err(format!("`{other}` is not `forward` or `reverse`")),
        })
    }

    /// A variant whose rounds have this measured part and this warm-up.
    pub(super) fn variant(
        &self,
        variant: &VariantFile,
        times: (Duration, Duration),
        registry: &Registry,
    ) -> Result<AbVariant, String> {
        let cc = read("cc", variant.cc.expand(self.words)?, |text| {
            registry.choose(text)
        })?;
        let cc = cc.to_string();
        let own = |text: &Option<Text>| {
            let text = text.as_ref().map(|text| text.expand(self.words));
            text.transpose()
        };
        let plan = self.plan(&cc, own(&variant.bitrate)?, times)?;
        let checked = plan.check(&Limits::NONE, registry);
        checked.map_err(|error| error.to_string())?;
        let flows = match own(&variant.flows)? {
            Some(text) => read("flows", text, flows)?,
            None => self.value("flows", 1, flows)?,
        };
        let start = own(&variant.start)?.map(|text| read("start", text, values::seconds_or_none));
        let start = start.transpose()?.unwrap_or_default();
        if !start.is_zero() && !self.matrix.compete {
            return Err("start: needs `compete = true`".to_owned());
        }
        let extra = own(&variant.extra_delay)?;
        let extra = extra.map(|text| read("extra_delay", text, units::duration::parse));
        Ok(AbVariant {
            bulk_after: self.bulk_after(&plan)?,
            resumes: false,
            cc,
            server: None,
            plan,
            flows,
            start,
            extra_delay: extra.transpose()?.unwrap_or_default(),
            duplicate: match own(&variant.duplicate)? {
                Some(text) => read("duplicate", text, duplicate)?,
                None => 1,
            },
        })
    }

    /// What each connection of controller `cc` does, as `ab` plans it; its own bitrate overrules
    /// the matrix's.
    fn plan(
        &self,
        cc: &str,
        bitrate: Option<String>,
        (time, omit): (Duration, Duration),
    ) -> Result<Plan, String> {
        let bytes = values::size_up_to::<1, { u64::MAX }>;
        let bytes = self.value("bytes", None, |text| bytes(text).map(Some))?;
        let limit = bytes.map_or(Limit::Time(time), |bytes| Limit::Bytes(bytes.get()));
        let direction = self.direction()?;
        let (client, server) = match direction {
            Direction::Reverse => (DEFAULT_CONTROLLER, cc),
            _ => (cc, DEFAULT_CONTROLLER),
        };
        let length = values::size_up_to::<1, MAX_LENGTH>;
        let window = self.text("window")?;
        let window = window.unwrap_or_else(|| DEFAULT_WINDOW.to_owned());
        let window = read("window", window, values::window)?;
        let rate = |text: &str| values::rate(text).map(Some);
        let rate = match bitrate {
            Some(own) => read("bitrate", own, rate)?,
            None => self.value("bitrate", None, rate)?,
        };
        let rate = target_rate(rate);
        if bytes.is_some() && rate.is_some() {
            return Err("bitrate: cannot be combined with `bytes`".to_owned());
        }
        if bytes.is_some() && self.matrix.compete {
            return Err(
                "bytes: cannot be combined with `compete = true`; use `seconds`".to_owned(),
            );
        }
        Ok(Plan {
            direction,
            limit,
            omit,
            streams: self.value("streams", 1, str::parse)?,
            length: self.size("length", DEFAULT_LENGTH, length)?,
            rate,
            client_congestion: client.to_owned(),
            server_congestion: server.to_owned(),
            window: window.most.get(),
            step: self.step.unwrap_or_else(|| step_for(limit, omit, None)),
            extras: Extras {
                at_most: bytes.map(|_| time),
                window_follows: window.follows,
                ..Extras::default()
            },
        })
    }

    /// When a sender that is limited to a rate begins to send without limit.
    fn bulk_after(&self, plan: &Plan) -> Result<Option<Duration>, String> {
        let after = self.value("bulk_after", None, |text| values::seconds(text).map(Some))?;
        if after.is_some() && plan.rate.is_none() {
            return Err("bulk_after: needs `bitrate`".to_owned());
        }
        Ok(after)
    }

    fn size<E: fmt::Display>(
        &self,
        key: &str,
        default: &str,
        size: impl Fn(&str) -> Result<units::Bytes, E>,
    ) -> Result<u64, String> {
        let text = self.text(key)?.unwrap_or_else(|| default.to_owned());
        read(key, text, size).map(units::Bytes::get)
    }

    fn value<T, E: fmt::Display>(
        &self,
        key: &str,
        default: T,
        value: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, String> {
        match self.text(key)? {
            None => Ok(default),
            Some(text) => read(key, text, value),
        }
    }

    /// What `key` says, or the word of that name; `None` when there is neither.
    fn text(&self, key: &str) -> Result<Option<String>, String> {
        let text = self.matrix.condition(key).or_else(|| self.words.get(key));
        let text = text.map(|text| text.expand(self.words)).transpose();
        text.map_err(|error| format!("{key}: {error}"))
    }
}

/// A time above zero, of a key that is the same in all cells.
pub(super) fn time(key: &str, text: &Text) -> Result<Duration, String> {
    read(key, text.to_string(), values::seconds)
}

fn read<T, E: fmt::Display>(
    key: &str,
    text: String,
    value: impl Fn(&str) -> Result<T, E>,
) -> Result<T, String> {
    value(&text).map_err(|error| format!("{key}: {error}"))
}

fn flows(text: &str) -> Result<u32, String> {
    let flows = text.parse().ok();
    let flows = flows.filter(|flows| (1..=MAX_FLOWS).contains(flows));
    flows.ok_or_else(|| format!("`{text}` is not a number from 1 to {MAX_FLOWS}"))
}

fn duplicate(text: &str) -> Result<u32, String> {
    let copies = text.parse().ok();
    let copies = copies.filter(|copies| (1..=MAX_COPIES).contains(copies));
    copies.ok_or_else(|| format!("`{text}` is not a number from 1 to {MAX_COPIES}"))
}
