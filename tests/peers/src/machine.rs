//! Clocks, and what processes use of the machine. The only file that reads any of them.

use crate::Result;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::fs;
use std::time::{Duration, Instant};

/// What a process has used.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Usage {
    /// User and system time.
    pub(crate) cpu: Duration,
    /// Bytes in memory: the resident set.
    pub(crate) resident: u64,
}

impl Usage {
    /// This process's, up to now.
    pub(crate) fn now() -> Result<Self> {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Ok(Self {
            cpu: cpu.try_into()?,
            resident: resident(&fs::read_to_string("/proc/self/status")?)?,
        })
    }
}

fn resident(status: &str) -> Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let words = line.ok_or("expected VmRSS in the status of a process")?;
    let kibibytes = words.trim().trim_end_matches(" kB");
    Ok(kibibytes.parse::<u64>()? << 10)
}

/// CPU time that all programs, the kernel and other guests of the host have used since the machine
/// started. It advances by 10 ms.
pub(crate) fn busy() -> Result<Duration> {
    busy_in(&fs::read_to_string("/proc/stat")?)
}

fn busy_in(stat: &str) -> Result<Duration> {
    let fields = stat.lines().next().unwrap_or_default().split_whitespace();
    let ticks: Vec<u64> = fields.skip(1).flat_map(str::parse).collect();
    let [
        user,
        nice,
        system,
        _idle,
        _waiting,
        interrupts,
        soft,
        stolen,
        ..,
    ] = ticks[..]
    else {
        return Err("expected eight numbers in /proc/stat".into());
    };
    let busy = user + nice + system + interrupts + soft + stolen;
    // A tick is a hundredth of a second on every architecture that Linux runs on.
    Ok(Duration::from_millis(10 * busy))
}

/// What the machine is: CPUs, their name, the kernel.
pub(crate) fn description() -> String {
    let first = |file: &str, key: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(key));
        let value = line.and_then(|line| line.split_once(':'));
        value.map_or_else(String::new, |(_, value)| value.trim().to_owned())
    };
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let name = first("/proc/cpuinfo", "model name");
    // For the whole to fit into 80 columns.
    let name: String = name.chars().take(40).collect();
    format!("{cpus} CPUs, {name}, Linux {}", kernel.trim())
}

#[expect(clippy::disallowed_methods, reason = "a stopwatch")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_set_is_read_in_bytes() {
        let status = "Name:\tpeers\nVmRSS:\t    2048 kB\nRssAnon:\t 1 kB\n";
        assert_eq!(resident(status).unwrap(), 2 << 20);
        assert!(resident("Name:\tpeers\n").is_err());
    }

    #[test]
    fn busy_time_is_all_but_idle_and_waiting() {
        let stat = "cpu  1 2 4 1000 2000 8 16 32 0 0\ncpu0 1 2 4 1000 2000 8 16 32 0 0\n";
        assert_eq!(busy_in(stat).unwrap(), Duration::from_millis(630));
        assert!(busy_in("cpu 1 2").is_err());
    }

    #[test]
    fn this_process_has_used_something() {
        let usage = Usage::now().unwrap();
        assert!(usage.cpu > Duration::ZERO && usage.resident > 1 << 16);
    }
}
