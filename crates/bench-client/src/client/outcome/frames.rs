use bench_kit::plan::Plan;
use bench_kit::sample::SideReport;
use bench_report::result::{Finite, FrameClock, Frames, RttMs};

/// What became of a video's frames, from what both sides have counted; `None` where the plan has no
/// video or the receiver did not report.
pub(super) fn frames(plan: &Plan, sent: &SideReport, received: &SideReport) -> Option<Frames> {
    let media = plan.extras.media?;
    let report = received.frames.as_ref()?;
    let lost = report.judged.saturating_sub(report.complete);
    let millis = |time| Some(Finite::millis(time));
    let latency = report.latency.map(|latency| RttMs {
        min: millis(latency.min),
        p50: millis(latency.p50),
        p95: millis(latency.p95),
        p99: millis(latency.p99),
        max: millis(latency.max),
    });
    Some(Frames {
        source: media.video.to_string(),
        count: report.judged,
        sent: sent.frames_sent,
        complete: report.complete,
        late: report.late,
        lost,
        missed_share: Finite::ratio(report.late.saturating_add(lost), report.judged),
        late_after_ms: Finite::millis(report.late_after),
        latency_ms: latency.unwrap_or_default(),
        latency_distribution: report.distribution.shares(),
        longest_freeze_ms: Finite::millis(report.freeze),
        clock: if report.is_clock_shared {
            FrameClock::Shared
        } else {
            FrameClock::HalfOfLeastRtt
        },
    })
}
