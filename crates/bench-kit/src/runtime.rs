//! Where the tasks of a run are carried out.

use crate::failure::Failure;
use tokio::runtime::{Builder, Runtime};

/// Has this thread, and those that it starts from now on, run on `core` alone: iperf3's `-A`.
///
/// # Errors
/// Names the cores on which they may run.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub fn keep_to_core(core: u16) -> Result<(), Failure> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let mut only = CpuSet::new();
    only.set(core.into());
    let allowed = sched_getaffinity(None);
    sched_setaffinity(None, &only).map_err(|_| {
        let allowed = allowed.map_or_else(
            |_| "another one".to_owned(),
            |set| cores((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core))),
        );
        Failure::usage(format!(
            "-A {core}: this program may not run on core {core}; use {allowed}"
        ))
    })
}

/// Elsewhere programs have no say in it.
///
/// # Errors
/// Always.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn keep_to_core(core: u16) -> Result<(), Failure> {
    Err(Failure::usage(format!(
        "-A {core}: this system lets no program choose its core; leave out -A"
    )))
}

/// `0-3, 6`.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn cores(cores: impl Iterator<Item = usize>) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for core in cores {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == core => *last = core,
            _ => ranges.push((core, core)),
        }
    }
    let ranges = ranges.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    ranges.collect::<Vec<_>>().join(", ")
}

/// A runtime whose tasks all run on the calling thread, so that its processor time is theirs.
///
/// # Errors
/// When the system has no timer or event queue for it.
pub fn current_thread() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::run(format!("cannot wait for sockets: {error}")))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn cores_are_listed_by_ranges() {
        assert_eq!(cores([0, 1, 2, 5, 7, 8].into_iter()), "0-2, 5, 7-8");
        assert_eq!(cores(std::iter::empty()), "");
    }

    #[test]
    fn a_thread_keeps_to_its_core_and_another_is_refused_with_those_there_are() {
        use rustix::thread::sched_getcpu;
        // Its own thread: others are not to be kept to the core.
        let thread = std::thread::spawn(|| {
            let here = u16::try_from(sched_getcpu()).unwrap();
            keep_to_core(here).unwrap();
            let refused = keep_to_core(1_023).unwrap_err().to_string();
            (here, u16::try_from(sched_getcpu()).unwrap(), refused)
        });
        let (chosen, there, refused) = thread.join().unwrap();
        assert_eq!(chosen, there);
        assert!(refused.ends_with(&format!("; use {chosen}")), "{refused}");
    }
}
