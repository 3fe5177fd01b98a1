//! Endpoints of the QUIC interop runner, ours and other libraries', as each other's clients and
//! servers: files are compared by SHA-256, and what a case is about is looked for on the path.
//!
//! Every run has ours with itself. `just interop` has all libraries, and writes their table in
//! docs/interop.md.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]
#![expect(clippy::print_stdout, reason = "what comes of a run of minutes")]

mod cases;
mod contract;
mod image;
mod path;
mod seen;
mod stacks;
mod table;

use aws_lc_rs::digest::{SHA256, digest};
use cases::{CASES, Case};
use e2e::programs::scratch_file;
use link_sim::relay::{Relay, RelayConfig};
use path::Path;
use stacks::{OTHERS, Served, Stack, Task, is_unsupported, said};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use table::{Outcome, Table};
use units::Rng;

#[tokio::test]
async fn our_endpoint_serves_itself_in_every_case() {
    let ours = Stack::ours();
    let mut wrong = Vec::new();
    for mut case in CASES {
        case.bytes = case.bytes.min(3_000_000);
        if case.server == "multiconnect" {
            case.files = case.files.min(2);
        }
        let expected = match case.title {
            "QUIC version 2" | "version negotiation" => Outcome::Unsupported,
            _ => Outcome::Passed,
        };
        let outcome = run(&case, &ours, &ours).await;
        if outcome != expected {
            wrong.push(format!("{}: {outcome:?}", case.title));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// ngtcp2, which no test run has to build, with smaller files than `just interop` has.
#[tokio::test]
async fn ngtcp2s_endpoints_and_ours_serve_each_other() {
    let other = match Stack::other("ngtcp2", &scratch_file("stacks")) {
        Ok(other) => other,
        Err(why) => return e2e::skipped(&why),
    };
    let (ours, mut table) = (Stack::ours(), Table::default());
    for pair in [[&ours, &other], [&other, &ours]] {
        for mut case in CASES {
            // A connection that times out by the loss alone is no fault.
            if case.link.is_some_and(|link| link.contains("30%")) {
                continue;
            }
            case.bytes = case.bytes.min(3_000_000);
            case.files = case.files.min(100);
            let outcome = run(&case, pair[0], pair[1]).await;
            table.add(case.title, pair.map(|stack| stack.name), outcome);
        }
    }
    assert_eq!(table.failed(), Vec::<String>::new());
    assert!(table.passed() > 20, "{table:?}");
}

/// `PACELINE_INTEROP` is where other libraries are kept; without it there is nothing to do.
/// `PACELINE_INTEROP_ONLY` has parts of lines, with commas between them, such as
/// `quinn: ECN,Chromium`: only what has one of them is run, and the table stays as it is.
#[tokio::test]
async fn other_libraries() {
    let Some(place) = std::env::var_os("PACELINE_INTEROP").map(PathBuf::from) else {
        return e2e::skipped("other libraries: `just interop` fetches and runs them");
    };
    std::fs::create_dir_all(&place).unwrap();
    let only = std::env::var("PACELINE_INTEROP_ONLY").ok();
    let is_asked = |line: &str| {
        let mut parts = only.iter().flat_map(|only| only.split(','));
        only.is_none() || parts.any(|part| line.contains(part))
    };
    let (ours, mut table) = (Stack::ours(), Table::default());
    for name in OTHERS {
        let lines = |case: &Case| {
            let pairs = [[ours.name, name], [name, ours.name]];
            pairs.map(|[client, server]| format!("{client} -> {server}: {}", case.title))
        };
        if !CASES.iter().flat_map(lines).any(|line| is_asked(&line)) {
            continue;
        }
        let other = match Stack::other(name, &place) {
            Ok(other) => other,
            Err(why) => {
                e2e::skipped(&why);
                continue;
            }
        };
        for pair in [[&ours, &other], [&other, &ours]] {
            if pair[1].is_client_only {
                continue;
            }
            for case in &CASES {
                let line = format!("{} -> {}: {}", pair[0].name, pair[1].name, case.title);
                if !is_asked(&line) {
                    continue;
                }
                let outcome = run(case, pair[0], pair[1]).await;
                println!("{line}: {outcome:?}");
                table.add(case.title, pair.map(|stack| stack.name), outcome);
            }
            if only.is_none() {
                table.write();
            }
        }
    }
    assert_eq!(table.failed(), Vec::<String>::new());
}

/// One case between two programs.
async fn run(case: &Case, client: &Stack, server: &Stack) -> Outcome {
    let directory = scratch_file("interop");
    let outcome = run_in(case, client, server, &directory).await;
    let _ = std::fs::remove_dir_all(&directory);
    outcome
}

/// The same, and what the programs write stays in `directory`.
async fn run_in(case: &Case, client: &Stack, server: &Stack, directory: &PathBuf) -> Outcome {
    let outcome = tokio::time::timeout(LIMIT, exchange(case, client, server, directory)).await;
    outcome.unwrap_or_else(|_| Outcome::Failed(format!("longer than {LIMIT:?}")))
}

async fn exchange(case: &Case, client: &Stack, server: &Stack, directory: &PathBuf) -> Outcome {
    let files = provide(case, directory);
    let ip: IpAddr = match case.is_ipv6 {
        true => Ipv6Addr::LOCALHOST.into(),
        false => Ipv4Addr::LOCALHOST.into(),
    };
    let any = SocketAddr::new(ip, 0);
    let mut task = Task {
        case: case.server,
        window: case.window,
        is_h3: client.is_h3_only || server.is_h3_only,
        directory,
    };
    let serving = match server.serve(&task, ip).await {
        Ok(serving) => serving,
        Err(Served::Unsupported) => return Outcome::Unsupported,
        Err(Served::Failed(why)) => return Outcome::Failed(why),
    };
    let relay = case.link.map(|link| {
        let link: link_sim::LinkSpec = link.parse().unwrap();
        let config = RelayConfig {
            link: link.clone(),
            return_link: link,
            seed: e2e::seed::choose(1, "relay"),
            ..RelayConfig::new(any, serving.address)
        };
        Relay::spawn(config).unwrap()
    });
    let to = relay
        .as_ref()
        .map_or(serving.address, |relay| relay.local_addr());
    let path = Path::to(to, case.rebinds_at).await;
    let to = if case.is_direct { to } else { path.address() };
    let requests: Vec<_> = files
        .iter()
        .map(|(name, _)| format!("https://{to}/{name}"))
        .collect();
    task.case = case.client.unwrap_or(case.server);
    let status = client.fetch(&task, &requests.join(" ")).await;
    if case.title.starts_with("ECN") && server.name == "Paceline" {
        wait_for_counts(directory).await;
    }
    serving.stop().await;
    if is_unsupported(status) {
        return Outcome::Unsupported;
    }
    let seen = path.seen();
    let both = ["client", "server"].map(|role| said(role, directory));
    let ours = &both[usize::from(client.name != "Paceline")];
    let is_ecn = case.title.starts_with("ECN");
    let fault = differing(&files, directory)
        .filter(|_| case.bytes > 0)
        .or_else(|| (case.fault)(&seen))
        .or_else(|| unmarked(ours).filter(|_| is_ecn));
    // quic-go's client does not know its own error after a version negotiation.
    let fault = fault.or_else(|| {
        let code = status.code();
        (code != Some(0) && case.bytes > 0).then(|| format!("the client ends with {code:?}"))
    });
    match fault {
        None => Outcome::Passed,
        Some(fault) => {
            let [client, server] = both.map(|text| tail(&text));
            Outcome::Failed(format!("{fault}; client: {client}; server: {server}"))
        }
    }
}

/// Our server says what it has counted when it has heard that its client is done.
async fn wait_for_counts(directory: &std::path::Path) {
    let counted = async {
        while !said("server", directory).contains("ECT(0)") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    // Without it the case fails by what is missing.
    let _ = tokio::time::timeout(Duration::from_secs(5), counted).await;
}

/// Certificate and files, in directories as the runner has them.
fn provide(case: &Case, directory: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    for name in ["www", "certs", "downloads"] {
        std::fs::create_dir_all(directory.join(name)).unwrap();
    }
    let mut names = vec![
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    let more = if case.has_long_certificate {
        0..150
    } else {
        0..0
    };
    names.extend(more.map(|number| format!("number-{number}.a-name-of-the-server.example")));
    let certificate = rcgen::generate_simple_self_signed(names).unwrap();
    let certs = directory.join("certs");
    std::fs::write(certs.join("cert.pem"), certificate.cert.pem()).unwrap();
    std::fs::write(
        certs.join("priv.key"),
        certificate.signing_key.serialize_pem(),
    )
    .unwrap();
    let mut rng = Rng::new(1);
    let files = (0..case.files).map(|number| {
        let words = std::iter::repeat_with(|| rng.next_u64().to_le_bytes());
        let content: Vec<u8> = words.take(case.bytes.div_ceil(8)).flatten().collect();
        let name = format!("file-{number}{}", "x".repeat(case.padding));
        std::fs::write(directory.join("www").join(&name), &content).unwrap();
        (name, digest(&SHA256, &content).as_ref().to_vec())
    });
    files.collect()
}

/// What is wrong with the files that came, by their SHA-256.
fn differing(files: &[(String, Vec<u8>)], directory: &std::path::Path) -> Option<String> {
    files.iter().find_map(|(name, hash)| {
        let shown = &name[..name.len().min(12)];
        match std::fs::read(directory.join("downloads").join(name)) {
            Err(error) => Some(format!("{shown}: {error}")),
            Ok(content) if digest(&SHA256, &content).as_ref() != hash => {
                Some(format!("{shown} differs, it has {} bytes", content.len()))
            }
            Ok(_) => None,
        }
    })
}

/// What is wrong with the marks that our side has counted.
fn unmarked(said: &str) -> Option<String> {
    let line = said.lines().find(|line| line.contains("ECT(0)"));
    let Some(line) = line else {
        return Some("nothing is said of ECN".to_owned());
    };
    let is_unmarked = line.contains("sent 0 ") || line.contains("received 0,");
    is_unmarked.then(|| line.to_owned())
}

/// The last of what a program has said.
fn tail(text: &str) -> String {
    let text = text.trim().replace('\n', " | ");
    let from = text.char_indices().rev().nth(300).map_or(0, |(at, _)| at);
    text[from..].to_owned()
}

const LIMIT: Duration = Duration::from_secs(90);
