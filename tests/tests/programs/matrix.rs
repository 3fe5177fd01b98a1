//! Sweeps as a user has them: interrupted, shared out, merged, and the same in the end.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod drawn;

use e2e::programs::{Ended, Running, bench_server, run, scratch_file};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn a_matrix_is_run_once_and_then_kept() {
    let place = Place::new("kept");
    let first = place.run(&["--json", "first.json", "--csv", "first.csv"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(
        first.stdout.lines().all(|line| line.chars().count() <= 80),
        "{}",
        first.stdout
    );
    assert!(first.stdout.contains("Goodput, Mbit/s"), "{}", first.stdout);
    let again = place.run(&["--json", "again.json"]);
    assert!(
        again.stderr.contains("6 cells already done, 0 to run"),
        "{again:?}"
    );
    assert_eq!(again.stdout, first.stdout);
    assert_eq!(place.text("again.json"), place.text("first.json"));

    let result = parse(&place.text("first.json"));
    assert_eq!(
        (&result["kind"], &result["complete"]),
        (&"matrix".into(), &true.into())
    );
    assert_eq!(result["axes"][0]["name"], "loss");
    let cells = result["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 6);
    assert_eq!(cells[5]["at"]["loss"], "5%");
    assert_eq!(cells[5]["at"]["rate"], "5mbit");
    assert_eq!(cells[5]["link"], "delay 10ms loss 5% rate 5mbit queue 1bdp");
    let ratio = &cells[0]["comparison"]["goodput_bits_per_second"]["ratio_b_over_a"];
    assert!(ratio.as_f64() > Some(0.0));
    // A cell's file is what `ab` writes.
    for file in place.cell_files("cells") {
        let cell = parse(&fs::read_to_string(file).unwrap());
        assert_eq!(cell["kind"], "ab");
        assert_eq!(cell["variants"][0]["rounds"].as_array().unwrap().len(), 2);
    }
    let rows = place.text("first.csv");
    assert!(rows.starts_with("cell,loss,rate,link,"), "{rows}");
}

#[test]
fn any_number_of_machines_and_of_cores_gives_the_same_bytes() {
    let place = Place::new("shards");
    place.run(&["--json", "whole.json", "--jobs", "1"]);
    for count in 1..=3 {
        let folders: Vec<String> = (1..=count).map(|part| format!("{count}-{part}")).collect();
        for (folder, part) in folders.iter().zip(1..) {
            let shard = format!("{part}/{count}");
            let ended = place.run_in(folder, &["--shard", &shard, "--jobs", "3"]);
            assert_eq!(ended.code, Some(0), "{ended:?}");
        }
        let ended = place.merge(&folders, "merged.json");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(
            place.text("merged.json"),
            place.text("whole.json"),
            "{count}"
        );
    }
}

#[test]
fn a_batch_system_says_which_part_is_due() {
    let place = Place::new("batch");
    let mut task = place.command("slurm", &[]);
    let variables = [
        ("ID", "3"),
        ("COUNT", "3"),
        ("MIN", "1"),
        ("MAX", "3"),
        ("STEP", "1"),
    ];
    task.envs(variables.map(|(name, value)| (format!("SLURM_ARRAY_TASK_{name}"), value)));
    let ended = task.output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(
        stderr.contains("part 3/3 (from SLURM_ARRAY_TASK_ID)"),
        "{stderr}"
    );
    assert_eq!(place.cell_files("slurm").len(), 2);
    let mut pod = place.command("pod", &[]);
    let ended = pod.env("JOB_COMPLETION_INDEX", "0").output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("without JOB_COMPLETIONS"), "{stderr}");
}

#[test]
fn a_sweep_that_is_killed_at_any_point_ends_in_the_same_bytes() {
    let place = Place::new("killed");
    place.run(&["--json", "whole.json"]);
    for cells_before in [0, 1, 3, 5] {
        let folder = format!("killed-{cells_before}");
        let mut sweep = place.start(&folder, &["--jobs", "1"]);
        match cells_before {
            0 => drop(sweep.note_with("cells: 6")),
            n => drop(sweep.note_with(&format!("   {n}/6"))),
        }
        sweep.kill();
        drop(sweep);
        let kept = place.cell_files(&folder).len();
        let ended = place.run_in(&folder, &["--json", "resumed.json"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        if kept > 0 {
            let line = format!("{kept} cells already done, {} to run", 6 - kept);
            assert!(ended.stderr.contains(&line), "{line}: {ended:?}");
        }
        assert_eq!(
            place.text("resumed.json"),
            place.text("whole.json"),
            "{cells_before}"
        );
    }
}

#[test]
fn two_processes_share_a_folder_and_one_that_is_killed_is_replaced() {
    let place = Place::new("two");
    place.run(&["--json", "whole.json"]);
    let mut killed = place.start("shared", &["--shard", "1/2", "--jobs", "1"]);
    let other = place.start("shared", &["--shard", "2/2", "--jobs", "1"]);
    killed.note_with("   1/3");
    killed.kill();
    drop(killed);
    let ended = place.merge(&["shared".to_owned()], "early.json");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("of 6 cells are missing: "),
        "{ended:?}"
    );
    assert_eq!(parse(&place.text("early.json"))["complete"], false);
    assert_eq!(other.wait().code, Some(0));
    let ended = place.run_in("shared", &["--shard", "1/2"]);
    assert!(ended.stderr.contains("cells already done"), "{ended:?}");
    let ended = place.merge(&["shared".to_owned()], "merged.json");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(place.text("merged.json"), place.text("whole.json"));
}

#[test]
fn ctrl_c_keeps_the_finished_cells() {
    let place = Place::new("interrupted");
    let mut sweep = place.start("cells", &["--jobs", "1", "--rounds", "20", "-t", "60"]);
    sweep.note_with("   1/6");
    sweep.interrupt();
    let ended = sweep.wait();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let said = ended.stderr.lines().last().unwrap();
    assert!(
        said.starts_with("interrupted: the matrix was ended early, by Ctrl-C or a signal; "),
        "{said}"
    );
    let kept = place.cell_files("cells").len();
    assert!(kept > 0);
    let end = format!(" has: {kept} of 6; the same command goes on with the others");
    assert!(said.ends_with(&end), "{said}");
    assert!(!ended.stderr.contains("error:"), "{ended:?}");
}

#[test]
fn a_file_that_is_no_result_of_its_cell_is_named_and_done_again() {
    let place = Place::new("unfit");
    place.run(&["--json", "whole.json"]);
    let files = place.cell_files("cells");
    let texts: Vec<String> = files
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    fs::write(&files[0], &texts[0][..texts[0].len() / 2]).unwrap();
    fs::write(
        &files[1],
        texts[1].replace("\"paceline ", "\"paceline 0.0."),
    )
    .unwrap();
    fs::write(&files[2], "").unwrap();
    fs::write(&files[3], &texts[4]).unwrap();
    let ended = place.run(&["--json", "mended.json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines = ended.stderr.lines();
    let lines: Vec<&str> = lines.filter(|line| line.contains("rerunning")).collect();
    assert_eq!(lines.len(), 4, "{ended:?}");
    for reason in ["damaged", "made by paceline 0.0.", "settings changed"] {
        assert!(
            lines.iter().any(|line| line.contains(reason)),
            "{reason}: {lines:?}"
        );
    }
    assert!(
        ended.stderr.contains("2 cells already done, 4 to run"),
        "{ended:?}"
    );
    assert_eq!(place.text("mended.json"), place.text("whole.json"));
    for (file, text) in files.iter().zip(&texts) {
        assert_eq!(&fs::read_to_string(file).unwrap(), text);
    }
    let ended = place.run(&["--seed", "2"]);
    assert_eq!(
        ended.stderr.matches("rerunning: settings changed").count(),
        6
    );
}

#[test]
fn a_merge_names_what_is_missing_foreign_or_contradictory() {
    let place = Place::new("merge");
    place.run_in("one", &["--shard", "1/2"]);
    place.run_in("two", &["--shard", "2/2"]);
    place.run_in("other", &["--shard", "2/2", "--seed", "2"]);
    let folders =
        |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    let ended = place.merge(&folders(&["one"]), "half.json");
    assert_eq!(ended.code, Some(1));
    assert!(
        ended
            .stderr
            .contains("3 of 6 cells are missing: loss=0.1%, rate=5mbit; "),
        "{ended:?}"
    );
    let ended = place.merge(&folders(&["one", "other"]), "no.json");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("cannot merge"), "{ended:?}");
    let ended = place.merge(&folders(&["one", "nowhere"]), "no.json");
    assert!(
        ended.stderr.contains("nowhere: not a matrix directory"),
        "{ended:?}"
    );

    let theirs = &place.cell_files("one")[0];
    let name = theirs.file_name().unwrap();
    fs::copy(theirs, place.path("two").join(name)).unwrap();
    fs::write(place.path("two").join("stranger.json"), "{}").unwrap();
    let ended = place.merge(&folders(&["one", "two"]), "whole.json");
    assert_eq!(
        ended.code,
        Some(0),
        "equal duplicates are no contradiction: {ended:?}"
    );
    assert!(
        ended.stderr.contains("stranger.json belongs to no cell"),
        "{ended:?}"
    );
    let text = fs::read_to_string(theirs).unwrap();
    let changed = text.replacen("\"seconds\": 2.0", "\"seconds\": 2.5", 1);
    assert_ne!(changed, text);
    fs::write(place.path("two").join(name), changed).unwrap();
    let ended = place.merge(&folders(&["one", "two"]), "no.json");
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("have different results for "),
        "{ended:?}"
    );
}

#[test]
fn a_disk_that_takes_no_more_is_named_and_costs_no_cell() {
    let place = Place::new("full");
    place.run(&["--json", "whole.json"]);
    let files = place.cell_files("cells");
    // A folder in the place of the file is in the way of a rename, for root too.
    fs::remove_file(&files[5]).unwrap();
    fs::create_dir(&files[5]).unwrap();
    let ended = place.run(&[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains(files[5].to_str().unwrap()),
        "{ended:?}"
    );
    let names = fs::read_dir(place.path("cells")).unwrap();
    let names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(!names.iter().any(|name| name.starts_with('.')), "{names:?}");
    fs::remove_dir(&files[5]).unwrap();
    let ended = place.run(&["--json", "/dev/full"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("--json /dev/full: No space left"),
        "{ended:?}"
    );
    let ended = place.run(&["--json", "again.json"]);
    assert!(ended.stderr.contains("6 cells already done"), "{ended:?}");
    assert_eq!(place.text("again.json"), place.text("whole.json"));
}

/// In a file system of its own, where this machine lets a user have one.
#[test]
fn a_full_disk_costs_the_cell_that_did_not_fit_and_no_other() {
    let place = Place::new("tiny");
    fs::create_dir(place.path("tiny")).unwrap();
    let sweep = place.command("tiny", &["--jobs", "1"]);
    let words = [sweep.get_program()].into_iter().chain(sweep.get_args());
    let script = r#"mount -t tmpfs -o size=160k none "$1" && dir=$1 out=$2 && shift 2 || exit 99
        "$@"; code=$?; cp -r "$dir" "$out"; exit $code"#;
    let ended = std::process::Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .args([place.path("tiny"), place.path("out")])
        .args(words)
        .output();
    let stderr = match &ended {
        Ok(ended) => String::from_utf8_lossy(&ended.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    let Some(ended) = ended.ok().filter(|_| stderr.contains("cells: 6")) else {
        return e2e::skipped(&format!("no file system of one's own here: {stderr}"));
    };
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("tiny/loss=") && stderr.contains("No space left"),
        "{stderr}"
    );
    let kept = place.cell_files("out");
    assert!((1..=3).contains(&kept.len()), "{kept:?}");
    place.run(&["--json", "whole.json"]);
    let ended = place.run_in("out", &["--json", "again.json"]);
    assert!(
        ended
            .stderr
            .contains(&format!("{} cells already done", kept.len())),
        "{ended:?}"
    );
    assert_eq!(place.text("again.json"), place.text("whole.json"));
}

#[test]
fn only_runs_a_part_of_the_conditions() {
    let place = Place::new("only");
    place.run(&["--only", "loss=1%", "--json", "only.json"]);
    let result = parse(&place.text("only.json"));
    assert_eq!(result["axes"][0]["values"], serde_json::json!(["1%"]));
    assert_eq!(result["cells"].as_array().unwrap().len(), 2);
    // The same cells in the whole matrix.
    let ended = place.run(&[]);
    assert!(
        ended.stderr.contains("2 cells already done, 4 to run"),
        "{ended:?}"
    );
}

#[test]
fn a_matrix_runs_in_real_time_too() {
    let place = Place::new("real");
    let folder = place.path("cells");
    let file = place.path("small.toml");
    fs::write(&file, MATRIX.replace("rounds = 2", "rounds = 1")).unwrap();
    let args: [&OsStr; 9] = [
        "matrix".as_ref(),
        file.as_ref(),
        "--dir".as_ref(),
        folder.as_ref(),
        "--only".as_ref(),
        "loss=1%".as_ref(),
        "--only".as_ref(),
        "rate=5mbit".as_ref(),
        "-J".as_ref(),
    ];
    let ended = run("bench-client", args);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = parse(&ended.stdout);
    assert_eq!(result["virtual"], false);
    let summary = &result["cells"][0]["variants"][1]["summary"]["goodput_bits_per_second"];
    assert!(summary["median"].as_f64() > Some(0.0), "{summary}");
}

#[test]
fn bytes_end_a_round_in_virtual_and_in_real_time() {
    let place = Place::new("bytes");
    let text = MATRIX.replace("seconds = 2", "bytes = '100K'\nseconds = 2");
    fs::write(place.path("small.toml"), text.replace("omit = 0.5", "")).unwrap();
    let only = ["--only", "loss=0.1%", "-t", "20"];
    let ended = place.run(&[&only[..], &["--json", "virtual.json"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("Time, s"), "{}", ended.stdout);
    let file = place.path("small.toml");
    let words = [&only[..], &["--only", "rate=5mbit", "--rounds", "1"]].concat();
    let words = words.iter().map(AsRef::as_ref);
    let folder = place.path("real");
    let head = [
        "matrix".as_ref(),
        file.as_os_str(),
        "--dir".as_ref(),
        folder.as_os_str(),
    ];
    let ended = run("bench-client", head.into_iter().chain(words));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for folder in ["cells", "real"] {
        for file in place.cell_files(folder) {
            let cell = parse(&fs::read_to_string(file).unwrap());
            assert_eq!(cell["round_bytes"], 100 << 10);
            for round in variants(&cell).flat_map(rounds) {
                assert_eq!(round["bytes"], 100 << 10, "{folder}: to the byte");
                assert_eq!(round["planned_bytes"], 100 << 10);
                let seconds = round["seconds"].as_f64().unwrap();
                // The first byte takes a round trip's half more than the last.
                assert!((0.1..10.0).contains(&seconds), "{folder}: {seconds}");
                let rate = round["goodput_bits_per_second"].as_f64().unwrap();
                assert!(
                    (rate * seconds / 819_200.0 - 1.0).abs() < 1e-3,
                    "{rate} {seconds}"
                );
            }
        }
    }
    let result = parse(&place.text("virtual.json"));
    let time = &result["cells"][0]["variants"][0]["summary"]["seconds"]["median"];
    // 100 KiB at 2 Mbit/s, from the first byte's arrival on, and what a short queue drops.
    assert!((0.41..1.20).contains(&time.as_f64().unwrap()), "{time}");
}

#[test]
fn a_transfer_that_takes_too_long_counts_for_what_has_come() {
    let place = Place::new("bound");
    let text = MATRIX.replace("seconds = 2", "bytes = '10M'\nseconds = 2");
    fs::write(place.path("small.toml"), text.replace("omit = 0.5", "")).unwrap();
    let ended = place.run(&["--only", "loss=5%", "--only", "rate=5mbit"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let cell = parse(&fs::read_to_string(&place.cell_files("cells")[0]).unwrap());
    for round in variants(&cell).flat_map(rounds) {
        assert_eq!(round["seconds"], 2.0);
        let bytes = round["bytes"].as_u64().unwrap();
        assert!((50_000..10 << 20).contains(&bytes), "{bytes}");
    }
}

#[test]
fn a_sender_that_sends_all_twice_pays_in_rate_and_gains_in_loss() {
    let place = Place::new("twice");
    let text = MATRIX
        .replace("cc = [\"cubic\", \"bbr1\"]", "controller = [\"new_reno\"]")
        .replace("\"0.1%\", \"1%\", ", "\"0%\", ")
        .replace("delay 10ms", "delay 100ms");
    let variants_text = "\n[[variants]]\ncc = \"{controller}\"\n\
                         [[variants]]\ncc = \"{controller}\"\nduplicate = 2\n";
    fs::write(place.path("small.toml"), text + variants_text).unwrap();
    let ended = place.run(&["--only", "rate=5mbit", "--json", "twice.json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("b new_reno ×2: "), "{ended:?}");
    assert!(ended.stdout.contains("new_reno ×2"), "{}", ended.stdout);
    let goodput = |cell: &Value, variant: usize| {
        let summary = &cell["variants"][variant]["summary"]["goodput_bits_per_second"];
        summary["median"].as_f64().unwrap()
    };
    let result = parse(&place.text("twice.json"));
    let (clean, lossy) = (&result["cells"][0], &result["cells"][1]);
    // Copies share the bottleneck with what they are copies of.
    let share = goodput(clean, 1) / goodput(clean, 0);
    assert!((0.40..0.55).contains(&share), "{share}");
    // One in twenty is lost, or one in four hundred.
    let gain = goodput(lossy, 1) / goodput(lossy, 0);
    assert!(gain > 1.5, "{gain}");
    for file in place.cell_files("cells") {
        let cell = parse(&fs::read_to_string(file).unwrap());
        for round in rounds(&cell["variants"][1]) {
            let sent = round["packets_sent"].as_u64().unwrap();
            assert_eq!(round["packets_copied"].as_u64(), Some(sent / 2));
        }
        assert!(rounds(&cell["variants"][0]).all(|round| round.get("packets_copied").is_none()));
    }
}

#[test]
fn copies_in_real_time_are_counted_and_arrive_once() {
    let (_server, port) = bench_server(&[]);
    let port = port.to_string();
    let flags = [
        "-n",
        "1M",
        "--duplicate",
        "2",
        "-J",
        "--link",
        "delay 5ms loss 10% rate 50mbit queue 1bdp",
    ];
    let words = ["run", "127.0.0.1", "-p", &port].into_iter().chain(flags);
    let run_twice = parse(&run("bench-client", words).stdout);
    let ended = run(
        "bench-client",
        [
            "ab",
            "--a",
            "cubic",
            "--b",
            "cubic",
            "--duplicate",
            "b=2",
            "--no-report",
            "-J",
        ]
        .into_iter()
        .chain([
            "--rounds",
            "1",
            "-t",
            "0.5",
            "-O",
            "0.1",
            "--link",
            "delay 5ms rate 10mbit queue 1bdp",
        ]),
    );
    let pair = parse(&ended.stdout);
    let (once, twice) = (&pair["variants"][0], &pair["variants"][1]);
    assert_eq!(
        (once.get("duplicate"), &twice["duplicate"]),
        (None, &2.into())
    );
    for round in [&run_twice["result"], &twice["rounds"][0]] {
        let sent = round["packets_sent"].as_u64().unwrap();
        assert_eq!(round["packets_copied"].as_u64(), Some(sent / 2), "{round}");
    }
    assert_eq!(run_twice["result"]["bytes"], 1 << 20);
    let goodput = |variant: &Value| {
        variant["rounds"][0]["goodput_bits_per_second"]
            .as_f64()
            .unwrap()
    };
    // Copies take as much of 10 Mbit/s as what they are copies of. In half a second of real time
    // what had queued before it counts as well.
    assert!(goodput(twice) < 6e6, "{}", goodput(twice));
    assert!(goodput(once) > 6e6, "{}", goodput(once));
}

#[test]
fn a_cell_of_every_built_in_matrix_runs_in_virtual_time() {
    let place = Place::new("built-in");
    let cheap: [(&str, &[&str]); 15] = [
        ("anywhere", &["cell=3", "cc=bbr3"]),
        ("bbr-paper", &["loss=10%"]),
        ("bufferbloat", &["cc=bbr3"]),
        ("buffers", &["buffer=0.1bdp"]),
        ("coexistence", &["buffer=1bdp", "challenger=bbr3"]),
        ("duplicating", &["copies=2", "controller=bbr1", "loss=2%"]),
        ("four-kernels", &["case=cake"]),
        ("kernel-tcp", &["case=50ms 15%"]),
        ("loopback-loss", &["loss=10%", "cc=cubic"]),
        ("netem", &["case=50ms 15%"]),
        ("random-loss", &["loss=3%", "rtt=40ms"]),
        (
            "rtt-fairness",
            &["buffer=1bdp", "controller=bbr1", "extra=20ms"],
        ),
        ("seven-rounds", &["round=4"]),
        ("staggered", &["buffer=1bdp", "controller=new_reno"]),
        ("windows", &["path=50 Mbit/s, 20 ms, 5 %", "window=auto"]),
    ];
    let listed = run("bench-client", ["list"]).stdout;
    for (name, only) in cheap {
        assert!(listed.contains(name), "{name}");
        let folder = place.path(name);
        let mut words = vec!["matrix".as_ref(), name.as_ref(), "--virtual".as_ref()];
        words.extend(["--rounds", "1", "-O", "0", "-t", "2", "--dir"].map(OsStr::new));
        words.push(folder.as_os_str());
        words.extend(
            only.iter()
                .flat_map(|only| ["--only", only])
                .map(OsStr::new),
        );
        let ended = run("bench-client", words);
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
    }
}

#[test]
fn errors_are_one_line_that_names_the_key() {
    let place = Place::new("errors");
    let refused = |text: &str| {
        let file = place.path("wrong.toml");
        fs::write(&file, text).unwrap();
        let ended = run("bench-client", ["matrix".as_ref(), file.as_os_str()]);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
        ended.stderr
    };
    let unknown = refused("name = 'm'\n\nlnk = 'delay 1ms'\n");
    assert!(
        unknown.contains("wrong.toml:3: unknown field `lnk`"),
        "{unknown}"
    );
    let placeless = refused("name = 'm'\nlink = 'delay {d}'\n[axes]\ncc = ['cubic']\n");
    assert!(placeless.contains("unknown axis `{d}`"), "{placeless}");
    let ended = run("bench-client", ["matrix", "no-such-matrix"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("known matrices: anywhere, "),
        "{ended:?}"
    );
    let ended = place.run(&["--shard", "1/2", "--json", "part.json"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("a part (--shard) writes no result"),
        "{ended:?}"
    );
}

/// A folder of one test, with a small matrix in it.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let place = Self(scratch_file(&format!("matrix-{name}")));
        // Of another process that had this number.
        let _ = fs::remove_dir_all(&place.0);
        fs::create_dir_all(&place.0).unwrap();
        fs::write(place.path("small.toml"), MATRIX).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// What `bench-client matrix` takes, with files that belong into this place.
    fn args(&self, folder: &str, more: &[&str]) -> Vec<PathBuf> {
        let file = self.path("small.toml");
        let words = [
            "matrix".into(),
            file,
            "--virtual".into(),
            "--dir".into(),
            self.path(folder),
        ];
        let more = more.iter().map(|word| {
            let is_file = ["json", "csv"]
                .iter()
                .any(|end| word.ends_with(&format!(".{end}")));
            if is_file {
                self.path(word)
            } else {
                PathBuf::from(word)
            }
        });
        words.into_iter().chain(more).collect()
    }

    fn start(&self, folder: &str, more: &[&str]) -> Running {
        Running::start("bench-client", self.args(folder, more))
    }

    fn run_in(&self, folder: &str, more: &[&str]) -> Ended {
        self.start(folder, more).wait()
    }

    fn run(&self, more: &[&str]) -> Ended {
        self.run_in("cells", more)
    }

    fn command(&self, folder: &str, more: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(e2e::programs::program("bench-client"));
        command.args(self.args(folder, more));
        command
    }

    fn merge(&self, folders: &[String], json: &str) -> Ended {
        let words = [
            "matrix".into(),
            "merge".into(),
            "--json".into(),
            self.path(json),
        ];
        let folders = folders.iter().map(|folder| self.path(folder));
        run("bench-client", words.into_iter().chain(folders))
    }

    /// In alphabetical order.
    fn cell_files(&self, folder: &str) -> Vec<PathBuf> {
        let files = fs::read_dir(self.path(folder)).unwrap();
        let files = files.map(|entry| entry.unwrap().path());
        let is_cell = |path: &PathBuf| {
            let name = path.file_name().and_then(OsStr::to_str).unwrap();
            name.starts_with("loss=") && Path::new(name).extension() == Some("json".as_ref())
        };
        let mut files: Vec<PathBuf> = files.filter(is_cell).collect();
        files.sort();
        files
    }
}

fn variants(cell: &Value) -> impl Iterator<Item = &Value> {
    cell["variants"].as_array().unwrap().iter()
}

fn rounds(variant: &Value) -> impl Iterator<Item = &Value> {
    variant["rounds"].as_array().unwrap().iter()
}

fn parse(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}:\n{json}"))
}

const MATRIX: &str = r#"
name = "small"
rounds = 2
seconds = 2
omit = 0.5
link = "delay 10ms loss {loss} rate {rate} queue 1bdp"

[axes]
loss = ["0.1%", "1%", "5%"]
rate = ["2mbit", "5mbit"]
cc = ["cubic", "bbr1"]
"#;
