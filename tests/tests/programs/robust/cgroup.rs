//! A server whose memory the kernel limits, as systemd's `MemoryMax` and containers do.

use crate::robust::{assert_windows_fit, client};
use e2e::programs::{Running, port_at_end, program};
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn a_server_whose_windows_fit_into_its_cgroup_serves_all_of_its_clients() {
    let Some(group) = Group::with_memory(160 << 20) else {
        return;
    };
    let (server, port) = group.start_server("--max-window 4M --max-connections 8 --threads 2");
    assert_windows_fit(server, port);
}

#[test]
fn a_server_that_the_kernel_kills_for_its_memory_is_named_by_its_client() {
    let Some(group) = Group::with_memory(32 << 20) else {
        return;
    };
    let (server, port) = group.start_server("--threads 1");
    // 256 MB may be on the way, and what is remembered of so many packets is more than it has.
    // They are there after three seconds, on a machine that sends 50,000 packets in one.
    let flags = ["-R", "-w", "256M", "-t", "60", "-C", "fixed:rate=4gbit"];
    let path = ["--link", "delay 3s limit 1000000", "--idle-timeout", "8"];
    let ended = client(port, &[&flags[..], &path].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let named = format!("127.0.0.1:{port}");
    assert!(ended.stderr.contains(&named), "{ended:?}");
    assert_eq!(server.wait().code, None, "a signal has ended it");
}

/// A group of processes, with a limit of memory. It goes with this.
struct Group(PathBuf);

impl Group {
    /// `None`, and a line that says so, where no group can be made.
    fn with_memory(bytes: u64) -> Option<Self> {
        let made = Self::make(bytes);
        if made.is_none() {
            e2e::skipped("cgroups cannot be written here; run it as root, outside of containers");
        }
        made
    }

    /// Below the group of this process, of either version.
    fn make(bytes: u64) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let path_of = |prefix: &str| own.lines().find_map(|line| line.split_once(prefix));
        let (parent, limit, swap) = match path_of(":memory:") {
            Some((_, path)) => (
                Path::new("/sys/fs/cgroup/memory").join(path.trim_start_matches('/')),
                "memory.limit_in_bytes",
                "memory.memsw.limit_in_bytes",
            ),
            None => (
                Path::new("/sys/fs/cgroup").join(path_of("0::")?.1.trim_start_matches('/')),
                "memory.max",
                "memory.swap.max",
            ),
        };
        let id = std::process::id();
        let group = Self(parent.join(format!("paceline-{id}-{bytes}")));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join(limit), bytes.to_string()).ok()?;
        // Not every kernel counts swap; where it does, there shall be none.
        let no_swap = if swap == "memory.swap.max" { 0 } else { bytes };
        let _ = fs::write(group.0.join(swap), no_swap.to_string());
        Some(group)
    }

    /// A server inside, and its port.
    fn start_server(&self, flags: &str) -> (Running, u16) {
        let script = format!(
            "echo $$ >\"$1\"/cgroup.procs && exec \"$0\" --bind 127.0.0.1 --port 0 {flags}"
        );
        let program = program("bench-server");
        let args = [
            "-c",
            &script,
            program.to_str().unwrap(),
            self.0.to_str().unwrap(),
        ];
        let mut server = Running::start_system("sh", args);
        let port = port_at_end(&server.line_with("listening on UDP 127.0.0.1:"));
        (server, port)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It fails while a process is in it, as after a failed test.
        let _ = fs::remove_dir(&self.0);
    }
}
