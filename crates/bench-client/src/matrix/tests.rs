use super::*;
use crate::ab::Backend;
use crate::client::{Remote, Trust};
use bench_kit::plan::Direction;
use std::collections::BTreeMap;

fn plan(text: &str) -> MatrixPlan {
    MatrixPlan::new(
        MatrixFile::read("m.toml", text).unwrap(),
        Backend::Simulated,
    )
}

fn cells(text: &str) -> Vec<CellPlan> {
    plan(text).cells(&Registry::standard()).unwrap()
}

/// Why a matrix is refused, when it is read or when its cells are planned.
fn refusal(text: &str) -> String {
    let refused = match MatrixFile::read("m.toml", text) {
        Err(failure) => failure,
        Ok(file) => MatrixPlan::new(file, Backend::Simulated)
            .cells(&Registry::standard())
            .unwrap_err(),
    };
    refused.to_string()
}

const TWO_AXES: &str = r#"
    name = "m"
    link = "delay {delay} loss {loss} rate 10mbit queue 1bdp"
    [axes]
    loss = ["1%", "2%"]
    delay = ["10ms", "20ms", "30ms"]
    cc = ["cubic", "bbr3"]
"#;

#[test]
fn a_cell_is_a_combination_of_values_and_the_last_axis_changes_first() {
    let cells = cells(TWO_AXES);
    let links: Vec<String> = cells
        .iter()
        .map(|cell| cell.links.link.to_string())
        .collect();
    assert_eq!(links.len(), 6);
    assert_eq!(links[0], "delay 10ms loss 1% rate 10mbit queue 1bdp");
    assert_eq!(links[1], "delay 20ms loss 1% rate 10mbit queue 1bdp");
    assert_eq!(links[3], "delay 10ms loss 2% rate 10mbit queue 1bdp");
    assert_eq!(cells[3].place(), "loss=2%, delay=10ms");
    assert!(
        cells
            .iter()
            .zip(0..)
            .all(|(cell, index)| cell.index == index)
    );
    let ccs: Vec<&str> = cells[0]
        .variants
        .iter()
        .map(|variant| variant.cc.as_str())
        .collect();
    assert_eq!(ccs, ["cubic", "bbr3"]);
    let axes = plan(TWO_AXES).axes();
    let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
    assert_eq!(
        names,
        ["loss", "delay"],
        "the order of the file, and no controllers"
    );
}

#[test]
fn a_matrix_without_axes_is_one_cell() {
    let cells = cells("name = 'm'\nlink = 'delay 1ms'\n[[variants]]\ncc = 'cubic'");
    assert_eq!(cells.len(), 1);
    assert_eq!(cells[0].place(), "the only cell");
    assert!(cells[0].at.is_empty());
}

#[test]
fn an_axis_with_the_name_of_a_key_is_its_value() {
    let cells = cells(
        r#"
        name = "m"
        [axes]
        link = ["delay 10ms", "delay 20ms rate 10mbit"]
        direction = ["forward", "reverse"]
        flows = [1, 4]
        cc = ["cubic"]
    "#,
    );
    assert_eq!(cells.len(), 8);
    assert_eq!(cells[7].links.link.to_string(), "delay 20ms rate 10mbit");
    assert_eq!(cells[7].direction, Direction::Reverse);
    assert_eq!(cells[7].variants[0].flows, 4);
    assert_eq!(cells[7].variants[0].plan.server_congestion, "cubic");
    assert_eq!(cells[0].variants[0].plan.client_congestion, "cubic");
}

#[test]
fn a_value_that_is_a_table_says_several_things_and_words_may_hold_words() {
    let cells = cells(
        r#"
        name = "m"
        link = "{there}"
        return_link = "{back}"
        [axes]
        round = [
            { at = "2", shape = "delay 150ms loss 0.5%", window = "6M" },
            { at = "3", shape = "delay 50ms loss 3%", window = "64M" },
        ]
        path = [
            { at = "data-path", there = "{shape}", back = "" },
            { at = "ack-path", there = "", back = "{shape}" },
        ]
        cc = ["cubic"]
    "#,
    );
    let links: Vec<(String, String)> = cells
        .iter()
        .map(|cell| {
            (
                cell.links.link.to_string(),
                cell.links.return_link.to_string(),
            )
        })
        .collect();
    assert_eq!(links[0], ("delay 150ms loss 0.5%".into(), String::new()));
    assert_eq!(links[1], (String::new(), "delay 150ms loss 0.5%".into()));
    assert_eq!(links[3], (String::new(), "delay 50ms loss 3%".into()));
    assert_eq!(cells[0].variants[0].plan.window, 6 << 20);
    assert_eq!(cells[1].place(), "round=2, path=ack-path");
}

#[test]
fn variants_have_flows_starts_and_extra_delays_of_their_own() {
    let cells = cells(
        r#"
        name = "m"
        compete = true
        link = "delay 10ms rate 10mbit queue 1bdp"
        flows = 2
        [[variants]]
        cc = "{controller}"
        [[variants]]
        cc = "{controller}"
        flows = 1
        start = 2.5
        extra_delay = "{extra}"
        duplicate = "{copies}"
        [axes]
        controller = ["cubic"]
        extra = ["30ms"]
        copies = [2]
    "#,
    );
    let [a, b] = cells[0].variants.as_slice() else {
        panic!("{:?}", cells[0].variants);
    };
    assert_eq!((a.duplicate, b.duplicate), (1, 2));
    assert_eq!(
        (a.flows, a.start.as_millis(), a.extra_delay.as_millis()),
        (2, 0, 0)
    );
    assert_eq!(
        (b.flows, b.start.as_millis(), b.extra_delay.as_millis()),
        (1, 2_500, 30)
    );
    assert!(cells[0].compete);
}

#[test]
fn bytes_end_a_round_and_seconds_bound_it() {
    let by_bytes = |more: &str| cells(&format!("bytes = '2M'\n{more}{TWO_AXES}"));
    let plan = by_bytes("")[0].variants[0].plan.clone();
    assert_eq!((plan.bytes(), plan.omit.as_secs()), (Some(2 << 20), 0));
    assert_eq!(
        (plan.measured_time(), plan.longest().unwrap().as_secs()),
        (None, 600)
    );
    let plan = by_bytes("seconds = 7\nomit = 0\n")[0].variants[0]
        .plan
        .clone();
    assert_eq!(plan.longest().unwrap().as_secs(), 7);
    assert_eq!(by_bytes("")[0].seed(), cells(TWO_AXES)[0].seed());
    // Also where an axis says them.
    let sizes = TWO_AXES.replace("delay = [", "bytes = ['1K', '4K']\n    delay = [");
    let sizes: Vec<Option<u64>> = cells(&sizes)
        .iter()
        .map(|cell| cell.variants[0].plan.bytes())
        .collect();
    assert_eq!(
        sizes[0..4],
        [Some(1 << 10), Some(1 << 10), Some(1 << 10), Some(4 << 10)]
    );
}

#[test]
fn what_a_server_sends_is_sent_twice_in_virtual_time_alone() {
    let text = "name = 'm'\nlink = 'delay 1ms'\ndirection = 'reverse'\n\
                [[variants]]\ncc = 'cubic'\nduplicate = 2";
    assert_eq!(cells(text)[0].variants[0].duplicate, 2);
    let planned = |text: &str| {
        let real = MatrixPlan::new(plan(text).matrix, Backend::Embedded);
        real.cells(&Registry::standard()).map(drop)
    };
    let refused = planned(text).unwrap_err().to_string();
    assert!(
        refused.contains("duplicate: a real server cannot"),
        "{refused}"
    );
    assert!(planned(&text.replace("reverse", "forward")).is_ok());
}

#[test]
fn a_seed_depends_on_conditions_and_on_neither_place_nor_controller() {
    let all = cells(TWO_AXES);
    let mut seeds: Vec<u64> = all.iter().map(CellPlan::seed).collect();
    assert!(seeds.iter().all(|seed| *seed < 1 << 53));
    let (first, last) = (seeds[0], seeds[5]);
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 6);
    let fewer = cells(&TWO_AXES.replace(r#""1%", "2%""#, r#""2%""#));
    assert_eq!(fewer[2].seed(), last);
    for others in ["bbr1:full_loss_thresh=12.5%\"", "bbr3\", \"bbr1\""] {
        let others = cells(&TWO_AXES.replace("bbr3\"", others));
        assert_eq!(others[0].seed(), first);
    }
    for changed in [
        format!("seed = 2\n{TWO_AXES}"),
        format!("flows = 2\n{TWO_AXES}"),
        format!("direction = 'reverse'\n{TWO_AXES}"),
        format!("return_link = 'delay 1ms'\n{TWO_AXES}"),
    ] {
        assert_ne!(cells(&changed)[0].seed(), first, "{changed}");
    }
}

#[test]
fn a_fingerprint_changes_with_everything_that_is_planned() {
    let print = |text: &str| cells(text)[0].fingerprint();
    let first = print(TWO_AXES);
    assert_eq!(first.len(), 32);
    assert_eq!(print(&TWO_AXES.replace(r#""1%", "2%""#, r#""1%""#)), first);
    assert_eq!(print(&format!("title = 'another'\n{TWO_AXES}")), first);
    for change in [
        "seed = 2",
        "rounds = 2",
        "seconds = 6",
        "omit = 2",
        "flows = 2",
        "streams = 2",
        "window = '1M'",
        "length = '1K'",
        "bitrate = '1M'",
        "mtu = 1300",
        "compete = true",
        "connect_timeout = 6",
        "idle_timeout = 6",
        "direction = 'reverse'",
        "return_link = 'delay 1ms'",
        "bytes = '1M'\nseconds = 5",
    ] {
        assert_ne!(print(&format!("{change}\n{TWO_AXES}")), first, "{change}");
    }
    assert_ne!(print(&TWO_AXES.replace("bbr3", "bbr1")), first);
    let once = "name = 'm'\nlink = 'delay 1ms'\n[[variants]]\ncc = 'cubic'";
    assert_ne!(print(&format!("{once}\nduplicate = 2")), print(once));
    let at = |backend| {
        let plan = MatrixPlan::new(plan(TWO_AXES).matrix, backend);
        plan.cells(&Registry::standard()).unwrap()[0].fingerprint()
    };
    let elsewhere = at(Backend::Network(Box::new(remote())));
    assert_ne!(at(Backend::Embedded), first);
    assert_ne!(elsewhere, first);
    assert_ne!(elsewhere, at(Backend::Embedded));
}

#[test]
fn files_of_cells_have_names_to_be_found_by_and_no_two_the_same() {
    let names = |text: &str| -> Vec<String> {
        let cells = cells(text);
        cells.iter().map(CellPlan::file_name).collect()
    };
    let long = "x".repeat(300);
    let text = format!(
        "name = 'm'
        link = 'delay {{d}}'
        [axes]
        cc = ['cubic']
        case = [
            {{ at = 'a b', d = '1ms' }},
            {{ at = 'a/b', d = '2ms' }},
            {{ at = '{long}', d = '3ms' }},
            {{ at = '{long}y', d = '4ms' }},
        ]"
    );
    let mut all = names(&text);
    assert!(all[0].starts_with("case=a_b-"), "{}", all[0]);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "=,.%+-_".contains(c);
    assert!(
        all.iter()
            .all(|name| name.len() <= 128 && name.chars().all(is_plain))
    );
    all.extend(names(&text.replace("'m'", "'n'")));
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 8, "{all:?}");
}

#[test]
fn only_keeps_the_values_it_names() {
    let only = |words: &[&str]| {
        let mut plan = plan(TWO_AXES);
        let only: Vec<Only> = words.iter().map(|word| word.parse().unwrap()).collect();
        plan.matrix.axes.narrow(&only)?;
        Ok::<_, String>(plan.cells(&Registry::standard()).unwrap())
    };
    let cells = only(&["loss=2%", "delay=10ms", "delay=30ms", "cc=bbr3"]).unwrap();
    assert_eq!(cells.len(), 2);
    assert_eq!(cells[1].place(), "loss=2%, delay=30ms");
    assert_eq!(cells[0].variants.len(), 1);
    assert_eq!(
        only(&["los=2%"]).unwrap_err(),
        "unknown axis `los`; known: loss, delay, cc"
    );
    assert_eq!(
        only(&["loss=3%"]).unwrap_err(),
        "unknown value `3%` of axis `loss`; known: 1%, 2%"
    );
}

#[test]
fn what_is_wrong_is_named_with_its_line_or_its_cell() {
    let with = |old: &str, new: &str| TWO_AXES.replace(old, new);
    let cases = [
        "name = 'm'\nlnk = 'delay 1ms'".to_owned(),
        "name = 'm'\nlink = 'delay 1ms".to_owned(),
        "name = 'm'\nlink = ['delay 1ms']".to_owned(),
        "link = 'delay 1ms'".to_owned(),
        "name = 'a/b'\nlink = 'delay 1ms'".to_owned(),
        "name = 'm'\nlink = 'delay 1ms'".to_owned(),
        "name = 'm'\nrounds = 0".to_owned(),
        format!("{TWO_AXES}\n[[variants]]\ncc = 'cubic'"),
        "name = 'm'\n[[variants]]\ncc = 'cubic'\nflow = 2".to_owned(),
        "name = 'm'\nlink = 'delay 1ms'\n[[variants]]\ncc = 'cubic'\nstart = 2".to_owned(),
        with("[\"1%\", \"2%\"]", "[]"),
        with("\"1%\", \"2%\"", "\"1%\", \"1%\""),
        with("\"1%\", \"2%\"", "{ loss = \"1%\" }"),
        with("{loss}", "{lost}"),
        with("{loss}", "{loss"),
        with("\"1%\"", "\"{delay}\"").replace("\"10ms\"", "\"{loss}\""),
        with("loss {loss} ", ""),
        with("\"1%\"", "\"1\""),
        with("bbr3", "bbr4"),
        format!("loss = 1\n{TWO_AXES}"),
        format!("return_link = 'x'\n{TWO_AXES}"),
        format!("direction = 'up'\n{TWO_AXES}"),
        format!("flows = 0\n{TWO_AXES}"),
        format!("seconds = 0\n{TWO_AXES}"),
        format!("{TWO_AXES}\nlink = [\"delay 1ms\"]"),
        with("delay {delay} ", "").replace("loss {loss}", "loss {loss}{delay}"),
        "name = 'm'\nlink = 'loss 1%'\n[axes]\ncc = ['cubic']".to_owned(),
        format!("mtu = 1199\n{TWO_AXES}"),
        format!("mtu = 65508\n{TWO_AXES}"),
        format!("bytes = 0\n{TWO_AXES}"),
        format!("bytes = '1M'\nomit = 1\n{TWO_AXES}"),
        format!("bytes = '1M'\nbitrate = '1M'\n{TWO_AXES}"),
        format!("bytes = '1M'\ncompete = true\n{TWO_AXES}"),
        "name = 'm'\nlink = 'delay 1ms'\n[[variants]]\ncc = 'cubic'\nduplicate = 3".to_owned(),
        with("[\"cubic\", \"bbr3\"]", "[1,2,3,4,5,6,7,8,9]"),
    ];
    let refusals: Vec<String> = cases.iter().map(|case| refusal(case)).collect();
    assert!(
        refusals.iter().all(|text| text.lines().count() == 1),
        "{refusals:?}"
    );
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn a_plan_reads_back_from_its_file() {
    for text in [
        TWO_AXES,
        "name = 'm'\nomit = 0\n[axes]\nlink = [{ at = 'a', link2 = 'b' }]\ncc = ['x']",
        DRAWN,
    ] {
        let plan = plan(text);
        let json = serde_json::to_string(&plan).unwrap();
        let back: MatrixPlan = serde_json::from_str(&json).unwrap();
        assert_eq!(back, plan);
    }
}

#[test]
fn shards_share_out_every_cell_once() {
    let cells = cells(TWO_AXES);
    for count in 1..=8 {
        let shards: Vec<Shard> = (1..=count)
            .map(|index| format!("{index}/{count}").parse().unwrap())
            .collect();
        for cell in &cells {
            assert_eq!(shards.iter().filter(|shard| shard.has(cell)).count(), 1);
        }
    }
    for wrong in ["", "1", "0/2", "3/2", "1/0", "a/2", "1/2/3", "-1/2"] {
        assert_eq!(wrong.parse::<Shard>().unwrap_err().input(), wrong);
    }
}

#[test]
fn batch_systems_say_which_part_is_due() {
    let shard = |variables: &[(&str, &str)]| {
        let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
        let of = Shard::of_environment(&|name| variables.get(name).map(|text| (*text).to_owned()));
        of.map(|shard| shard.map(|(shard, _)| shard.to_string()))
            .map_err(|failure| failure.to_string())
    };
    let slurm = |id, count, min, max, step| {
        shard(&[
            ("SLURM_ARRAY_TASK_ID", id),
            ("SLURM_ARRAY_TASK_COUNT", count),
            ("SLURM_ARRAY_TASK_MIN", min),
            ("SLURM_ARRAY_TASK_MAX", max),
            ("SLURM_ARRAY_TASK_STEP", step),
        ])
    };
    assert_eq!(shard(&[]), Ok(None));
    assert_eq!(slurm("0", "4", "0", "3", "1"), Ok(Some("1/4".into())));
    assert_eq!(slurm("4", "4", "1", "4", "1"), Ok(Some("4/4".into())));
    assert_eq!(slurm("9", "3", "1", "9", "4"), Ok(Some("3/3".into())));
    assert_eq!(slurm("7", "1", "7", "7", "1"), Ok(Some("1/1".into())));
    assert!(
        slurm("9", "4", "1", "22", "1")
            .unwrap_err()
            .contains("SLURM_ARRAY_TASK_ID=9")
    );
    assert!(
        shard(&[("SLURM_ARRAY_TASK_ID", "1")])
            .unwrap_err()
            .contains("_COUNT is not set")
    );
    let pod = |index, count| shard(&[("JOB_COMPLETION_INDEX", index), ("JOB_COMPLETIONS", count)]);
    assert_eq!(pod("0", "3"), Ok(Some("1/3".into())));
    assert_eq!(pod("2", "3"), Ok(Some("3/3".into())));
    assert!(pod("3", "3").is_err() && pod("x", "3").is_err());
    let alone = shard(&[("JOB_COMPLETION_INDEX", "0")]).unwrap_err();
    assert!(
        alone.contains("JOB_COMPLETIONS") && alone.contains("--shard"),
        "{alone}"
    );
}

#[test]
fn a_network_is_given_the_links_of_both_ways() {
    let shape = |text: &str, shaper: &str| {
        let network = Network {
            remote: Box::new(remote()),
            shaper: shaper.into(),
        };
        network.shape(&cells(text)[0])
    };
    let there = "name = 'm'\nlink = 'delay 3ms loss 1%'\nreturn_link = 'delay 4ms'\n\
                 axes.cc = ['cubic']\n";
    let back = format!("direction = 'reverse'\n{there}");
    assert_eq!(
        shape(there, "echo").unwrap(),
        "delay 3ms loss 1% delay 4ms\n"
    );
    assert_eq!(
        shape(&back, "echo").unwrap(),
        "delay 4ms delay 3ms loss 1%\n"
    );
    // It says what it does not know: `sh` looks for a file of this name.
    let refused = shape(there, "sh").unwrap_err();
    assert!(refused.contains("delay 3ms loss 1%"), "{refused}");
    assert_eq!(shape(there, "false").unwrap_err(), "false: exit status: 1");
    let missing = shape(there, "/nowhere/shape").unwrap_err();
    assert!(missing.starts_with("/nowhere/shape: "), "{missing}");
}

fn remote() -> Remote {
    Remote {
        target: "192.0.2.1:4433".parse().unwrap(),
        server: None,
        host: "192.0.2.1".to_owned(),
        port: 4433,
        trust: Trust::Anyone,
        token: None,
        bind: None,
        first_port: None,
        turn: None,
    }
}

const DRAWN: &str = r#"
    name = "m"
    draw = 20
    omit = 1
    link = "delay {rtt} {loss_words} rate 10mbit queue 1bdp"
    [axes]
    cc = ["cubic", "bbr3"]
    [draws]
    rtt = { uniform = ["10ms", "40ms"] }
    p = { uniform = ["1%", "2%"] }
    loss = { choose = [{ at = "none", loss_words = "" }, { at = "some", loss_words = "loss {p}" }] }
    [[use]]
    at = "alone"
    [[use]]
    at = "beside"
    compete = true
    variants = [{ cc = "{cc}" }, { cc = "cubic", start = 1 }]
    [[use]]
    at = "transfer"
    bytes = 1000
"#;

#[test]
fn a_drawn_cell_has_a_plan_for_each_controller_over_the_same_path() {
    let cells = cells(DRAWN);
    assert_eq!(cells.len(), 40);
    for pair in cells.chunks(2) {
        let [cubic, bbr] = pair else { unreachable!() };
        assert_eq!(cubic.links.link.to_string(), bbr.links.link.to_string());
        assert_eq!(cubic.seed(), bbr.seed());
        assert_eq!((cubic.index % 2, bbr.index), (0, cubic.index + 1));
        assert_ne!(cubic.file_name(), bbr.file_name());
        assert_eq!(cubic.variants[0].cc, "cubic");
        assert_eq!(bbr.variants[0].cc, "bbr3");
    }
    let seeds: std::collections::BTreeSet<u64> = cells.iter().map(CellPlan::seed).collect();
    assert_eq!(seeds.len(), 20);
    let of = |usage: &str| {
        let usage = usage.to_owned();
        let is_it = move |cell: &&CellPlan| cell.at[1] == ("use".to_owned(), usage.clone());
        cells.iter().find(is_it).unwrap()
    };
    assert!(!of("alone").compete && of("alone").neighbours.is_empty());
    assert!(of("beside").compete && of("beside").neighbours == ["b"]);
    assert_eq!(of("beside").variants[1].cc, "cubic");
    let plan = &of("transfer").variants[0].plan;
    assert_eq!(
        (plan.bytes(), plan.omit),
        (Some(1_000), std::time::Duration::ZERO)
    );
    // What a cell does not use is not said of it.
    for cell in &cells {
        let has = |name: &str| cell.at.iter().any(|(axis, _)| axis == name);
        assert!(has("cell") && has("use") && has("rtt") && has("loss") && has("cc"));
        assert_eq!(has("p"), cell.links.link.to_string().contains("loss"));
    }
}

#[test]
fn the_cells_of_a_small_draw_are_those_of_a_large_one() {
    let files =
        |text: &str| -> Vec<String> { cells(text).iter().map(CellPlan::file_name).collect() };
    let (all, few) = (files(DRAWN), files(&DRAWN.replace("draw = 20", "draw = 5")));
    assert_eq!(few, all[..10]);
    let mut plan = plan(DRAWN);
    plan.only_cells = vec![3];
    let one = plan.cells(&Registry::standard()).unwrap();
    let one: Vec<String> = one.iter().map(CellPlan::file_name).collect();
    assert_eq!(one, all[6..8]);
}

#[test]
fn packets_in_virtual_time_are_as_large_as_asked_for() {
    let mean = |mtu: u16| {
        let text = format!("mtu = {mtu}\nseconds = \"1s\"\nrounds = 1\n{TWO_AXES}");
        let cell = &cells(&text)[0];
        let setup = cell.ab_setup(&Registry::standard(), NonZero::<usize>::MIN);
        let interrupts = Interrupts::listen().unwrap();
        let result = ab::run(&setup, &interrupts, &mut |_| {}).unwrap();
        let round = &result.variants[0].rounds[0];
        round.bytes / round.packets_sent.unwrap()
    };
    assert!((1_300..1_472).contains(&mean(1_472)));
    assert!((4_000..9_500).contains(&mean(9_000)));
}
