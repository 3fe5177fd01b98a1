use super::rows::with_direction;
use crate::result::iperf::Row;
use crate::result::{FrameClock, FrameCounts, Frames};
use crate::text::significant;

/// The frames of one interval, of which `row` is the sum; `None` without a video. `is_bidir` where
/// both sides send one.
///
/// ```text
/// [VID]  0.00-1.00  sec   30 frames sent, 29 complete, 1 late, 0 lost
/// ```
pub fn frame_row(row: &Row, is_bidir: bool) -> Option<String> {
    let FrameCounts {
        sent,
        complete,
        late,
        lost,
    } = row.frames?;
    let counts = [
        (sent, "sent"),
        (complete, "complete"),
        (late, "late"),
        (lost, "lost"),
    ];
    let known = counts
        .into_iter()
        .filter_map(|(count, what)| Some((count?, what)));
    let words = known.enumerate().map(|(index, (count, what))| match index {
        0 => format!("{count:>4} frames {what}"),
        _ => format!("{count} {what}"),
    });
    let words: Vec<String> = words.collect();
    let line = format!(
        "[VID] {:>5.2}-{:<5.2} sec {}",
        row.start.get(),
        row.end.get(),
        words.join(", ")
    );
    Some(match is_bidir {
        true => with_direction(&line, Some(row)),
        false => line,
    })
}

/// The closing lines of a run with video. Ends with a newline.
///
/// ```text
/// Frames: 270 of 270 complete, 3 late (over 100 ms), 0 lost
/// Frame latency: p50/p95/p99/max 37.4/61.0/104/131 ms, longest freeze 128 ms
/// ```
pub fn frame_block(frames: &Frames) -> String {
    let mut block = format!(
        "Frames: {} of {} complete, {} late (over {} ms), {} lost\n",
        frames.complete, frames.count, frames.late, frames.late_after_ms, frames.lost
    );
    let latency = &frames.latency_ms;
    let times = [latency.p50, latency.p95, latency.p99, latency.max];
    let times =
        times.map(|time| time.map_or_else(|| "-".to_owned(), |time| significant(time.get())));
    block.push_str(&format!(
        "Frame latency: p50/p95/p99/max {} ms, longest freeze {} ms\n",
        times.join("/"),
        significant(frames.longest_freeze_ms.get())
    ));
    if frames.clock == FrameClock::HalfOfLeastRtt {
        block.push_str(&format!("Frame latency: {}\n", frames.clock));
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::finite;
    use crate::result::RttMs;

    #[test]
    fn frames_of_an_interval_are_those_that_are_known() {
        let row = |sent, received: Option<[u64; 3]>| {
            let row = Row {
                end: finite(1.0),
                frames: Some(FrameCounts {
                    sent,
                    complete: received.map(|counts| counts[0]),
                    late: received.map(|counts| counts[1]),
                    lost: received.map(|counts| counts[2]),
                }),
                sender: sent.is_some(),
                ..Row::default()
            };
            [false, true].map(|is_bidir| frame_row(&row, is_bidir).unwrap())
        };
        let [line, of_two] = row(Some(240), Some([200, 100, 40]));
        assert_eq!(
            line,
            "[VID]  0.00-1.00  sec  240 frames sent, 200 complete, 100 late, 40 lost"
        );
        assert!(of_two.starts_with("[VID][TX-C]  0.00-1.00 ") && of_two.len() <= 80);
        let [line, _] = row(Some(30), None);
        assert_eq!(line, "[VID]  0.00-1.00  sec   30 frames sent");
        let [line, of_two] = row(None, Some([30, 0, 0]));
        assert_eq!(
            line,
            "[VID]  0.00-1.00  sec   30 frames complete, 0 late, 0 lost"
        );
        assert!(of_two.starts_with("[VID][RX-C]"));
        assert_eq!(frame_row(&Row::default(), false), None);
    }

    #[test]
    fn what_became_of_frames_has_lines_of_80_columns() {
        let mut frames = Frames {
            count: 123_456,
            complete: 123_400,
            late: 120_000,
            lost: 56,
            late_after_ms: finite(100.0),
            latency_ms: RttMs {
                p50: Some(finite(101.26)),
                p95: Some(finite(204.0)),
                p99: Some(finite(999.0)),
                max: Some(finite(1000.0)),
                ..RttMs::default()
            },
            longest_freeze_ms: finite(1234.5),
            clock: FrameClock::HalfOfLeastRtt,
            ..Frames::default()
        };
        let block = frame_block(&frames);
        assert!(block.lines().all(|line| line.len() <= 80), "{block}");
        assert_eq!(
            block,
            "Frames: 123400 of 123456 complete, 120000 late (over 100 ms), 56 lost\n\
             Frame latency: p50/p95/p99/max 101/204/999/1000 ms, longest freeze 1234 ms\n\
             Frame latency: one-way times estimated from half the minimum RTT\n"
        );
        frames.clock = FrameClock::Shared;
        frames.latency_ms = RttMs::default();
        assert!(frame_block(&frames).contains("p50/p95/p99/max -/-/-/- ms"));
    }
}
