//! The recipes of `scenarios/cluster`, as far as a single machine can try them.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use e2e::programs::{program, run, scratch_file};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Needs Ray (`pip install ray`) in `python3`.
#[test]
fn ray_runs_a_part_again_whose_worker_was_killed() {
    if !has_ray() {
        return e2e::skipped("python3 has no Ray; `pip install ray` brings it");
    }
    let folder = scratch_file("ray");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let matrix = folder.join("small.toml");
    fs::write(&matrix, MATRIX).unwrap();
    let (whole, merged, cells) = (
        folder.join("1.json"),
        folder.join("2.json"),
        folder.join("2"),
    );
    let alone = folder.join("1");
    let words: [&Path; 7] = [
        "matrix".as_ref(),
        &matrix,
        "--virtual".as_ref(),
        "--dir".as_ref(),
        &alone,
        "--json".as_ref(),
        &whole,
    ];
    assert_eq!(run("bench-client", words).code, Some(0));

    let ray = Ray::start(&matrix, &cells, &merged);
    let killed = wait_for("a worker with a finished cell", || {
        let worker = worker_of(&cells, "1/2")?;
        has_cell_of_first_part(&cells).then_some(worker)
    });
    kill(killed);
    let again = wait_for("another worker", || {
        worker_of(&cells, "1/2").filter(|worker| *worker != killed)
    });
    assert_ne!(again, killed);
    let (succeeded, said) = ray.wait();
    assert!(succeeded, "{said}");
    let resumed = said.lines().any(|line| line.contains("cells already done"));
    assert!(resumed, "{said}");
    assert_eq!(fs::read(&merged).unwrap(), fs::read(&whole).unwrap());
}

#[test]
fn the_recipes_use_the_variables_that_the_program_knows() {
    let read = |name: &str| fs::read_to_string(recipes().join(name)).unwrap();
    let job = read("indexed-job.yaml");
    let count = |key: &str| {
        let lines = job.lines().skip_while(|line| !line.contains(key));
        let digits = |line: &str| {
            line.chars()
                .filter(char::is_ascii_digit)
                .collect::<String>()
        };
        let mut numbers = lines.map(digits).filter(|digits| !digits.is_empty());
        numbers.next().unwrap()
    };
    assert!(job.contains("completionMode: Indexed"));
    assert_eq!(count("completions: "), count("name: JOB_COMPLETIONS"));
    let slurm = read("slurm-array.sh");
    assert!(slurm.contains("--shard \"$SLURM_ARRAY_TASK_ID/$SHARDS\""));
    let readme = read("README.md");
    for variable in [
        "SLURM_ARRAY_TASK_COUNT",
        "JOB_COMPLETION_INDEX",
        "JOB_COMPLETIONS",
    ] {
        assert!(readme.contains(variable), "{variable}");
    }
}

#[test]
fn the_slurm_recipe_runs_the_part_of_its_task_and_merges() {
    let folder = scratch_file("slurm");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let matrix = folder.join("small.toml");
    fs::write(&matrix, MATRIX).unwrap();
    let bin = program("bench-client");
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", bin.parent().unwrap().display());
    let task = |words: &[&str], variables: &[(&str, &str)]| {
        let ended = Command::new(recipes().join("slurm-array.sh"))
            .arg(&matrix)
            .args(words)
            .env("PATH", &path)
            .envs(variables.iter().copied())
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(ended.status.success(), "{ended:?}");
    };
    task(
        &[],
        &[
            ("SLURM_ARRAY_TASK_ID", "1"),
            ("SLURM_ARRAY_TASK_COUNT", "2"),
            ("SLURM_ARRAY_TASK_MIN", "1"),
            ("SLURM_ARRAY_TASK_MAX", "2"),
        ],
    );
    task(&[], &[("SLURM_ARRAY_TASK_ID", "2"), ("SHARDS", "2")]);
    task(&["merge"], &[]);
    let merged = fs::read_to_string(folder.join("small-cells.json")).unwrap();
    assert!(merged.contains("\"complete\": true"), "{merged}");
}

fn recipes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/cluster")
}

fn has_ray() -> bool {
    let tried = Command::new("python3").args(["-c", "import ray"]).output();
    tried.is_ok_and(|ended| ended.status.success())
}

/// The script, with a cluster of two processors of its own.
struct Ray(Option<Child>);

impl Ray {
    fn start(matrix: &Path, cells: &Path, json: &Path) -> Self {
        let child = Command::new("python3")
            .arg(recipes().join("ray_matrix.py"))
            .args(["--parts", "2", "--local-cpus", "2", "--program"])
            .arg(program("bench-client"))
            .arg("--dir")
            .arg(cells)
            .arg("--json")
            .arg(json)
            .arg(matrix)
            .env("RAY_USAGE_STATS_ENABLED", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self(Some(child))
    }

    /// Whether it succeeded, and everything it said.
    fn wait(mut self) -> (bool, String) {
        let ended = self.0.take().unwrap().wait_with_output().unwrap();
        let said =
            [ended.stdout, ended.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (ended.status.success(), said.concat())
    }
}

impl Drop for Ray {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // Ray's own processes end with the script.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The process that runs this part of the cells' matrix, by that of the program that it started.
fn worker_of(cells: &Path, part: &str) -> Option<u32> {
    let processes = fs::read_dir("/proc").ok()?;
    processes.flatten().find_map(|process| {
        let words = fs::read(process.path().join("cmdline")).ok()?;
        let words: Vec<String> = words
            .split(|byte| *byte == 0)
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        let is_part = words[0].ends_with("bench-client")
            && words.iter().any(|word| Path::new(word) == cells)
            && words.iter().any(|word| word == part);
        let status = fs::read_to_string(process.path().join("status")).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
        parent.trim().parse().ok().filter(|_| is_part)
    })
}

/// Every second cell, from the first on.
fn has_cell_of_first_part(folder: &Path) -> bool {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let mut first = names.filter(|name| {
        let losses = ["0.01%", "0.03%", "0.05%", "0.07%"];
        losses
            .iter()
            .any(|loss| name.starts_with(&format!("loss={loss}")))
    });
    first.next().is_some()
}

fn kill(process: u32) {
    let id = i32::try_from(process)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(id.unwrap(), rustix::process::Signal::KILL).unwrap();
}

/// Looks until there is something, for as long as Ray may take to start on a busy machine.
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let (_never, pause) = mpsc::channel::<()>();
    for _ in 0..6_000 {
        if let Some(found) = look() {
            return found;
        }
        let _ = pause.recv_timeout(Duration::from_millis(20));
    }
    panic!("there was never {what}");
}

/// Long enough to be killed in the middle.
const MATRIX: &str = r#"
name = "small"
rounds = 3
seconds = 20
omit = 1
link = "delay 20ms loss {loss} rate 20mbit queue 1bdp"

[axes]
loss = ["0.01%", "0.02%", "0.03%", "0.04%", "0.05%", "0.06%", "0.07%", "0.08%"]
cc = ["bbr3", "bbr1"]
"#;
