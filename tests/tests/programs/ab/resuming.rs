//! Connections that begin with what earlier ones have learned, in real time.

use super::{ab, parse};

#[test]
fn a_connection_resumes_in_real_time() {
    let ended = |more: &[&str]| {
        let link = ["--link", "rate 40mbit delay 200ms queue 1bdp"];
        let test = [
            "--a", "cubic", "--b", "cubic", "--resume", "b", "--rounds", "1",
        ];
        let ended = ab(&[&test[..], &link, &["-n", "4M"], more].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let result = parse(&ended.stdout);
        let seconds = |index: usize| {
            result["variants"][index]["summary"]["seconds"]["median"]
                .as_f64()
                .unwrap()
        };
        // Two thirds, three round trips of 200 ms fewer; more on a busy machine, but never as long.
        (seconds(0), seconds(1))
    };
    for direction in [&[][..], &["-R"]] {
        let (fresh, resumed) = ended(direction);
        assert!(
            resumed < 0.95 * fresh,
            "{direction:?}: {resumed} against {fresh}"
        );
    }
}

#[test]
fn what_cannot_resume_is_said_with_what_can() {
    let cases: [(&[&str], &str); 3] = [
        (
            &["-R", "--flows", "2"],
            "--resume: a server in real time resumes one connection at a",
        ),
        (
            &["-R", "127.0.0.1:9"],
            "--resume: a server elsewhere does not remember paths",
        ),
        (&["--perf", "a:1"], "cannot be used with"),
    ];
    for (args, part) in cases {
        let ended = ab(&[&["--resume", "b"], args].concat());
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains(part), "{args:?}: {}", ended.stderr);
    }
}
