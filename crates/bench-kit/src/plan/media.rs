//! Live video as the payload of a run: how large its frames are, and when they are due.

use super::rate::bit_rate;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;
use units::{Bandwidth, ParseError};

/// Frames in datagrams, in place of datagrams of noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Media {
    pub video: Video,
    /// A frame that takes longer is late; also how long its datagrams wait to be sent.
    pub late: Duration,
    /// Whether a stream without limit is sent beside the frames.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bulk: bool,
}

/// `video:4mbit,30fps,key=2s`: an encoder of constant rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// The mean of all frames, headers included, in bits per second; `None` follows what the
    /// transport recommends.
    pub rate: Option<u64>,
    /// Frames per second, 1 to 240.
    pub fps: u32,
    /// Time from one key frame to the next, one frame to ten minutes.
    pub key: Duration,
    /// The bytes of a key frame over those of another frame, 1 to 50.
    pub ratio: u32,
}

/// Why a source cannot be sent, as text that says what to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaError(String);

impl Media {
    /// A frame that is not complete after this time is lost.
    pub fn give_up(&self) -> Duration {
        self.late.saturating_mul(GIVE_UP)
    }

    /// The numbers of the frames that count: those of the measured part that have had the time to
    /// be given up by its end.
    pub fn judged(&self, omit: Duration, measured: Duration) -> Range<u64> {
        let first = self.video.frames_before(omit);
        let end = omit.saturating_add(measured);
        let last = self.video.frames_before(end.saturating_sub(self.give_up()));
        first..last.max(first)
    }

    /// How many streams the plan has: the video, and the stream beside it.
    pub fn streams(&self) -> u32 {
        1 + u32::from(self.bulk)
    }

    /// The most that the frames take, in bits per second.
    pub fn most(&self) -> u64 {
        self.video.rate.unwrap_or(*AUTO.end())
    }

    /// # Errors
    /// Names what is out of bounds, and the bounds.
    pub(super) fn check(
        &self,
        omit: Duration,
        measured: Option<Duration>,
        size: Option<u16>,
    ) -> Result<(), MediaError> {
        self.video.check()?;
        let error = |text: String| Err(MediaError(text));
        let late = units::duration::display(self.late);
        if !LATE.contains(&self.late) {
            return error(format!("frames late after {late}: use 1ms to 10s"));
        }
        if size.is_none_or(|size| !SIZES.contains(&size)) {
            let (least, most) = (SIZES.start(), SIZES.end());
            return error(format!(
                "video needs datagrams of {least} to {most} bytes; set their size with -u and -l"
            ));
        }
        let Some(measured) = measured else {
            return error("video has no end; limit the run by time".to_owned());
        };
        let frames = self.judged(omit, measured);
        let give_up = units::duration::display(self.give_up());
        if frames.is_empty() {
            return error(format!(
                "run too short for video: frames of the last {give_up} do not count, as they may \
                 still be on the way; measure for longer than that"
            ));
        }
        if frames.end > MAX_FRAMES {
            return error(format!(
                "run of {} frames too long: at most {MAX_FRAMES} allowed; measure for a shorter \
                 time",
                frames.end
            ));
        }
        Ok(())
    }
}

impl Video {
    /// When a frame is due, after the first one.
    pub fn due(&self, frame: u64) -> Duration {
        let nanos = u128::from(frame) * 1_000_000_000 / u128::from(self.fps.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How many frames are due before `time`.
    pub fn frames_before(&self, time: Duration) -> u64 {
        let frames = (time.as_nanos() * u128::from(self.fps)).div_ceil(1_000_000_000);
        u64::try_from(frames).unwrap_or(u64::MAX)
    }

    /// The bytes of a frame at `rate` bits per second. Those of all frames from one key frame to
    /// the next add up to the rate, rounded down to a byte.
    pub fn bytes(&self, frame: u64, rate: u64) -> u64 {
        let bytes = self.total(frame + 1, rate) - self.total(frame, rate);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// The rate of the next frame where the transport recommends `hint`, in bits per second.
    pub fn rate(&self, due: Duration, hint: Bandwidth) -> u64 {
        let hint = hint.bits_per_sec().clamp(*AUTO.start(), *AUTO.end());
        let hint = if due < SETTLING {
            hint.min(FIRST_RATE)
        } else {
            hint
        };
        self.rate.unwrap_or(hint)
    }

    /// The bytes of the first `frames` frames.
    fn total(&self, frames: u64, rate: u64) -> u128 {
        let (frames, group) = (u128::from(frames), self.group());
        let of_group = group - 1 + u128::from(self.ratio);
        let begun = match frames % group {
            0 => 0,
            others => u128::from(self.ratio) + others - 1,
        };
        let weight = frames / group * of_group + begun;
        u128::from(rate) * group * weight / (8 * u128::from(self.fps.max(1)) * of_group.max(1))
    }

    /// Whether it is a key frame.
    pub fn is_key(&self, frame: u64) -> bool {
        u128::from(frame).is_multiple_of(self.group())
    }

    /// Frames from one key frame to the next.
    fn group(&self) -> u128 {
        let frames = self.key.as_nanos() * u128::from(self.fps);
        ((frames + 500_000_000) / 1_000_000_000).max(1)
    }

    fn check(&self) -> Result<(), MediaError> {
        let error = |text: &str| Err(MediaError(text.to_owned()));
        if !FPS.contains(&self.fps) {
            return error(&format!("{} frames per second: use 1 to 240", self.fps));
        }
        if self.key.as_nanos() * u128::from(self.fps) < 500_000_000 || self.key > MAX_KEY {
            let key = units::duration::display(self.key);
            return error(&format!("key frame every {key}: use one frame to 600s"));
        }
        if !RATIOS.contains(&self.ratio) {
            return error(&format!("key frames of {} times: use 1 to 50", self.ratio));
        }
        let of_group = self.group() - 1 + u128::from(self.ratio);
        let least =
            |rate: u64| u128::from(rate) * self.group() / (8 * u128::from(self.fps) * of_group);
        if least(self.rate.unwrap_or(*AUTO.start())) < u128::from(MEDIA_HEADER) {
            return error(&format!(
                "frames smaller than their header of {MEDIA_HEADER} bytes; raise the rate or \
                 lower fps or ratio"
            ));
        }
        if (least(self.rate.unwrap_or(*AUTO.end())) + 1) * u128::from(self.ratio) > MAX_FRAME {
            return error(&format!(
                "key frames larger than {MAX_FRAME} bytes; lower the rate or ratio"
            ));
        }
        Ok(())
    }
}

impl FromStr for Video {
    type Err = ParseError;

    /// `video:RATE,FPSfps,key=TIME[,ratio=N]`; RATE is `auto` or a rate.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let words = text
            .strip_prefix("video:")
            .filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| ParseError::new(text, SOURCE))?;
        let mut words = words.split(',');
        let mut next = |expected| words.next().ok_or_else(|| ParseError::new(text, expected));
        let rate = match next(SOURCE)? {
            "auto" => None,
            word => Some(rate(word)?),
        };
        let fps = number(next(SOURCE)?, ("", "fps"), FPS, FPS_WORD)?;
        let key = next(SOURCE)?;
        let time = key.strip_prefix("key=").map(units::duration::parse);
        let video = Self {
            rate,
            fps,
            key: match time {
                Some(Ok(time)) if !time.is_zero() && time <= MAX_KEY => time,
                _ => return Err(ParseError::new(key, KEY_WORD)),
            },
            ratio: match words.next() {
                None => DEFAULT_RATIO,
                Some(word) => number(word, ("ratio=", ""), RATIOS, RATIO_WORD)?,
            },
        };
        if let Some(word) = words.next() {
            return Err(ParseError::new(
                word,
                "expected: `ratio=N` is the last word",
            ));
        }
        Ok(video)
    }
}

fn rate(word: &str) -> Result<u64, ParseError> {
    let rate = bit_rate(word).ok();
    let rate = rate.map(Bandwidth::bits_per_sec).filter(|rate| *rate > 0);
    rate.ok_or_else(|| ParseError::new(word, "a rate from 8bit on, such as 4mbit, or `auto`"))
}

/// The number between the two parts of `around`.
fn number(
    word: &str,
    around: (&str, &str),
    bounds: std::ops::RangeInclusive<u32>,
    expected: &'static str,
) -> Result<u32, ParseError> {
    let digits = word.strip_prefix(around.0);
    let digits = digits.and_then(|rest| rest.strip_suffix(around.1));
    let number = digits.and_then(|digits| digits.parse().ok());
    let number = number.filter(|number| bounds.contains(number));
    number.ok_or_else(|| ParseError::new(word, expected))
}

impl fmt::Display for Video {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("video:")?;
        match self.rate {
            Some(rate) => write!(f, "{}", Bandwidth::from_bits_per_sec(rate))?,
            None => f.write_str("auto")?,
        }
        let key = units::duration::display(self.key);
        write!(f, ",{}fps,key={key}", self.fps)?;
        if self.ratio != DEFAULT_RATIO {
            write!(f, ",ratio={}", self.ratio)?;
        }
        Ok(())
    }
}

impl fmt::Display for MediaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The header of each datagram of a frame, in bytes.
pub const MEDIA_HEADER: u64 = 42;

/// When a frame is late if nothing else is asked for.
pub const DEFAULT_LATE: Duration = Duration::from_millis(100);

/// The size of a frame's datagrams if nothing else is asked for: it fits every path of QUIC, in
/// packets of 1,200 bytes (RFC 9000 §14).
pub const MEDIA_DATAGRAM: u16 = 1_150;

/// Between a flat stream and one with still pictures: libwebrtc's VP8 encoder allows a key frame 3
/// to 9 mean frames at 30 frames a second.
const DEFAULT_RATIO: u32 = 5;

/// A frame that takes so many times the time after which it is late is lost.
const GIVE_UP: u32 = 10;

/// Rates that `auto` chooses from, in bits per second: an encoder has a least and a most as well.
const AUTO: std::ops::RangeInclusive<u64> = 300_000..=20_000_000;

/// What `auto` sends at most while the transport knows little of the path, in bits per second.
const FIRST_RATE: u64 = 2_000_000;

/// How long that is.
const SETTLING: Duration = Duration::from_millis(500);

const FPS: std::ops::RangeInclusive<u32> = 1..=240;
const RATIOS: std::ops::RangeInclusive<u32> = 1..=50;
const SIZES: std::ops::RangeInclusive<u16> = 128..=u16::MAX - 8;
const LATE: std::ops::RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(10);
const MAX_KEY: Duration = Duration::from_secs(600);

/// Bytes of a frame: at most 32,768 of the smallest datagrams.
const MAX_FRAME: u128 = 4 << 20;

/// More than three hours of 30 frames a second. A receiver keeps 32 bytes of each.
const MAX_FRAMES: u64 = 360_000;

const SOURCE: &str = "a source such as video:4mbit,30fps,key=2s or video:auto,30fps,key=2s";
const FPS_WORD: &str = "a number of frames per second, 1fps to 240fps";
const KEY_WORD: &str = "the time between key frames, from 1ns to 600s, such as key=2s";
const RATIO_WORD: &str = "the size of key frames over others, ratio=1 to ratio=50";

#[cfg(test)]
mod tests;
