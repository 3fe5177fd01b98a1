use super::*;
use bench_report::{fixtures, plot};

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("output-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_file_is_replaced_at_once_and_its_links_stay() {
    let folder = folder("replaced");
    let (file, link) = (folder.join("r.json"), folder.join("link"));
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let mut before = File::open(&file).unwrap();
    Output::open("--json", &link).unwrap().write("new").unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
    assert!(link.is_symlink());
    let mut held = String::new();
    std::io::Read::read_to_string(&mut before, &mut held).unwrap();
    assert_eq!(held, "old");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_default_name_is_that_of_no_earlier_file() {
    let name = |taken: &[&str]| {
        let exists = |path: &Path| taken.iter().any(|other| path == Path::new(other));
        let name = unused(Path::new("ab-report"), "html", 0, exists);
        name.display().to_string()
    };
    let timed = "ab-report-19700101T000000Z.html";
    assert_eq!(name(&[]), "ab-report.html");
    assert_eq!(name(&["ab-report.html"]), timed);
    let second = "ab-report-19700101T000000Z-2.html";
    assert_eq!(name(&["ab-report.html", timed]), second);
}

#[test]
fn a_test_without_a_round_keeps_what_was_there_and_leaves_nothing_empty() {
    let folder = folder("kept");
    let (old, new) = (folder.join("old"), folder.join("new"));
    std::fs::write(&old, "good").unwrap();
    let open = |path: &Path| Output::open("--json", path).unwrap();
    let files = [&old, &new].map(|path| (Some(open(path)), "failed".to_owned()));
    write_new(files, true).unwrap();
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "good");
    assert_eq!(std::fs::read_to_string(&new).unwrap(), "failed");
    drop(open(&folder.join("unused")));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_incomplete_result_takes_the_place_of_an_incomplete_one_alone() {
    let folder = folder("partial");
    let path = |name: &str| folder.join(name);
    let part = "{\n  \"complete\": false\n}\n";
    let write = |name: &str, text: &str| {
        let file = Output::open("--json", &path(name)).unwrap();
        write([(Some(file), text.to_owned())], false, true).unwrap();
    };
    std::fs::write(path("r.json"), "{\n  \"complete\": true\n}\n").unwrap();
    std::fs::write(path("page"), "by hand").unwrap();
    std::fs::write(path("old.json"), part).unwrap();
    for name in ["r.json", "page", "old.json", "new.json"] {
        write(name, part);
        write(name, &format!("{part}again"));
    }
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    assert!(read("r.json").contains("true"));
    assert_eq!(read("page"), "by hand");
    for name in ["r.partial.json", "page.partial", "old.json", "new.json"] {
        assert_eq!(read(name), format!("{part}again"), "{name}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 6);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn figures_of_an_incomplete_result_go_beside_those_that_are_there() {
    let folder = folder("figures");
    let figures = plot::of_ab(&fixtures::ab());
    let directory = || Directory::create("--svg", &folder.join("d")).unwrap();
    assert_eq!(
        directory().beside(&figures).unwrap().path(),
        folder.join("d")
    );
    std::fs::write(directory().file(&figures[0].0), "old").unwrap();
    let other = folder.join("d.partial");
    assert_eq!(directory().beside(&figures).unwrap().path(), other);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = Output {
        flag: "--rounds-csv",
        path: PathBuf::from("/dev/stdout"),
        file: File::from(std::os::fd::OwnedFd::from(writer)),
        is_new: false,
    };
    assert_eq!(output.write("a line\n"), Ok(()));
}

#[test]
fn two_texts_need_two_files() {
    let folder = folder("distinct");
    let path = folder.join("x");
    let open = |flag, path: &Path| Output::open_if(flag, Some(path)).unwrap();
    let (report, json) = (open("--report", &path), open("--json", &folder.join("./x")));
    let error = check_distinct(&[&report, &None, &json])
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("--report and --json both write "),
        "{error}"
    );
    let kept = |file: &Path| check_kept(&[&report, &None], "-F", Some(file));
    let error = kept(&folder.join("./x")).unwrap_err().to_string();
    let told = format!(
        "--report would write over {}, the file of -F; give it another file",
        path.display()
    );
    assert_eq!(error, told);
    assert_eq!(kept(&folder.join("y")), Ok(()));
    assert_eq!(check_kept(&[&report], "-F", None), Ok(()));
    let null = ["--report", "--json"].map(|flag| open(flag, Path::new("/dev/null")));
    assert_eq!(check_distinct(&[&null[0], &null[1]]), Ok(()));
    std::fs::remove_dir_all(folder).unwrap();
}
