use crate::result::iperf::{Interval, RequestRow};
use crate::result::{Finite, RequestTimes, RunRequests};
use crate::text::{printable, significant};

/// The requests of one interval.
///
/// ```text
/// [REQ]  0.00-1.00  sec   10 answers    min/median/max 20.1/20.4/31.0 ms
/// ```
pub fn request_row(interval: &Interval, requests: &RequestRow) -> String {
    let times = [requests.min_ms, requests.median_ms, requests.max_ms];
    format!(
        "[REQ] {:>5.2}-{:<5.2} sec {:>4} responses  min/median/max {} ms",
        interval.sum.start.get(),
        interval.sum.end.get(),
        requests.answered,
        slashed(times.map(Some))
    )
}

/// The closing lines of a run with requests. Ends with a newline.
pub fn request_block(requests: &RunRequests) -> String {
    let mut block = line("Requests", &requests.rtt_ms);
    if let Some(foreign) = &requests.foreign {
        block.push_str(&line("New connections, handshake", &foreign.handshake_ms));
        block.push_str(&line("New connections, request", &foreign.request_ms));
        if foreign.failed > 0 {
            block.push_str(&format!(
                "New connections, failed: {}{}\n",
                foreign.failed,
                why(foreign.failure.as_deref())
            ));
        }
    }
    if let Some(rpm) = requests.responsiveness_rpm {
        let load = if requests.under_load {
            "under load"
        } else {
            "idle"
        };
        block.push_str(&format!(
            "Responsiveness {load}: {:.0} round trips per minute\n",
            rpm.get()
        ));
    }
    block
}

/// `; the first: ...`, in one line whatever the server has sent.
fn why(failure: Option<&str>) -> String {
    failure.map_or_else(String::new, |why| {
        format!("; the first: {}", printable(why))
    })
}

fn line(what: &str, times: &RequestTimes) -> String {
    let quantiles = [times.min, times.p50, times.p95, times.p99, times.max];
    format!(
        "{what}: {}, min/p50/p95/p99/max {} ms\n",
        times.count,
        slashed(quantiles)
    )
}

fn slashed<const N: usize>(times: [Option<Finite>; N]) -> String {
    let text =
        |time: Option<Finite>| time.map_or_else(|| "-".to_owned(), |time| significant(time.get()));
    times.map(text).join("/")
}
