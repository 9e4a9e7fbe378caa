//! `simulate` and `heat`.

use std::fs;
use std::process::Output;
use std::time::Duration;

use fastrand::Rng;
use keyderive::heat::{Access, Recorder};
use keyderive_proto::admin::{Cluster, HotTablet, ListClustersResponse, ListHotTabletsResponse};
use keyderive_proto::values::Timestamp;
use keyderive_scripted::{Answer, Mock, Request, Rpc};
use serde_json::Value as Json;
use tonic::Code;

use crate::hostile::assert_harmless;
use crate::program::Folder;
use crate::tables;

const NAMES: [&str; 4] = ["--map", "time=at", "--map", "user=user_id"];

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    fs::write(folder.path().join("layouts.json"), tables::view_layouts()).unwrap();
    folder
}

#[track_caller]
fn text(output: &Output) -> (String, String, Option<i32>) {
    let [out, error] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8(bytes.clone()).unwrap());
    (out, error, output.status.code())
}

#[track_caller]
fn json(output: &Output) -> Json {
    let (out, error, _) = text(output);
    serde_json::from_str(&out).unwrap_or_else(|fault| panic!("{fault}: {out}{error}"))
}

#[test]
fn the_sentence_names_the_hot_range_and_a_salt_cools_it() {
    let folder = folder("views");
    fs::write(folder.path().join("views.csv"), tables::views(3000)).unwrap();
    let run = |arguments: &[&str]| folder.run(&[&["simulate", "views.csv"], arguments, &NAMES].concat(), b"");

    let daily =
        run(&["daily", "--format", "json", "--below", "0.2", "--svg", "heat.svg", "--html", "heat.html"]);
    let data = json(&daily);
    assert_eq!((daily.status.code(), &data["is_below"]), (Some(5), &Json::Bool(false)));
    assert_eq!((&data["events"], &data["tablets"]["peak"]), (&3000.into(), &1.0.into()));
    let line = data["line"].as_str().unwrap();
    assert!(line.starts_with("The busiest tablet takes 100 % of the writes of its worst "), "{line}");
    assert!(line.contains("tablet that begins with at 2026-11-24T0"), "{line}");
    let svg = fs::read_to_string(folder.path().join("heat.svg")).unwrap();
    let html = fs::read_to_string(folder.path().join("heat.html")).unwrap();
    assert!(svg.starts_with("<svg") && html.contains("daily: \\u003cat>#"));

    let salted = run(&["salted", "--format", "json", "--below", "0.4"]);
    assert_eq!(salted.status.code(), Some(0), "{}", json(&salted)["line"]);

    // A variant that is named is computed, and drawn.
    let (printed, error, code) = text(&run(&["daily", "--variant", "salt=8"]));
    assert_eq!((code, error.as_str()), (Some(0), ""));
    assert!(
        !printed.contains("as salt=8")
            && printed.contains("with 8 buckets")
            && printed.contains("\nsalt=8: <salt 0 to 7>#<at>#<user_id>\n"),
        "{printed}"
    );
    assert!(printed.lines().rev().take(12).all(|line| line.chars().count() <= 80), "{printed}");

    // Without the usual ones, those that are named are left.
    let changes = |arguments: &[&str]| {
        let data = json(&run(&[&["daily", "--format", "json"], arguments].concat()));
        let remedies = data["remedies"].as_array().unwrap();
        remedies.iter().map(|remedy| remedy["variant"].to_string()).collect::<Vec<_>>()
    };
    let usual = changes(&[]);
    assert!(usual.len() > 5, "{usual:?}");
    assert_eq!(changes(&["--no-remedies"]), [""; 0]);
    assert_eq!(changes(&["--no-remedies", "--variant", "salt=8"]), [r#""as salt=8""#]);
}

#[test]
fn forms_times_and_sizes_of_an_input() {
    let folder = folder("forms");
    let run = |arguments: &[&str], input: &str| {
        folder.run(&[&["simulate", "-"], arguments, &["--format", "json"]].concat(), input.as_bytes())
    };
    let lines: String = (0..500)
        .map(|at| {
            format!(
                "{{\"user_id\":\"u{}\",\"at\":\"2026-11-24T06:{:02}:00Z\",\"size\":100}}\n",
                at % 7,
                at / 10
            )
        })
        .collect();
    let of_lines = run(&["salted", "--input-format", "json", "--bytes", "size"], &lines);
    assert_eq!(json(&of_lines)["events"], 500);
    // The same times as numbers, and as a database writes them.
    let csv = |time: &dyn Fn(u64) -> String| {
        let lines = (0..500).map(|at| format!("u{},{},x\n", at % 7, time(at / 10)));
        format!("user_id,at,size\n{}", lines.collect::<String>()).replace(",x\n", ",100\n")
    };
    let database = csv(&|minute| format!("2026-11-24T06:{minute:02}:00Z"));
    assert_eq!(json(&run(&["salted", "--bytes", "size"], &database)), json(&of_lines));
    let clock =
        database.replace("user_id,at", "user_id,clock").replace(":00Z,", ":00,").replace("T06", " 06");
    let clock = clock.replace("user_id,", "page,");
    let (_, note, _) = text(&run(
        &["pages", "--map", "clock=number"],
        &csv(&|_| "7".into()).replace("user_id,at", "page,clock"),
    ));
    assert!(note.contains("the n-th event is taken for one of the n-th second"), "{note}");
    let pages = run(&["pages", "--time", "clock"], &clock.replace(",size", ",number"));
    let minutes =
        csv(&|minute| (1_795_500_000 + minute * 60).to_string()).replace("user_id,at", "page,clock");
    let numbers =
        run(&["pages", "--time", "clock", "--time-unit", "s"], &minutes.replace(",size", ",number"));
    assert_eq!(json(&pages), json(&numbers));
    assert_eq!(json(&pages)["time"], "clock");
    // Reads, as many as events.
    let read = run(
        &["pages", "--time", "clock", "--read", "page*0.5", "--read", "page=u1"],
        &clock.replace(",size", ",number"),
    );
    assert_eq!(
        (&json(&read)["reads"][0]["per_event"], &json(&read)["reads"][1]["name"]),
        (&0.5.into(), &"page=u1".into())
    );
}

#[test]
fn events_are_put_in_the_order_of_their_times() {
    let folder = folder("unsorted");
    let run = |arguments: &[&str], input: &str| {
        let output = folder.run(&[&["simulate", "-"], arguments, &NAMES].concat(), input.as_bytes());
        let (out, error, code) = text(&output);
        assert_eq!((error.as_str(), code), ("", Some(0)));
        out
    };
    let sorted = tables::views(2000);
    let (names, lines) = sorted.split_once('\n').unwrap();
    let mut lines: Vec<_> = lines.lines().collect();
    Rng::with_seed(4).shuffle(&mut lines);
    let shuffled = format!("{names}\n{}\n", lines.join("\n"));
    for arguments in [&["daily", "--variant", "salt=8", "--no-remedies"][..], &["salted", "--format", "json"]]
    {
        assert!(run(arguments, &sorted) == run(arguments, &shuffled), "{arguments:?}");
    }
}

/// More text than is held: the events of the first seconds come an hour late.
#[test]
fn late_events_are_counted_and_the_note_says_how_to_sort() {
    let folder = folder("late");
    let awk = "function line(i) { printf \"u%d%s,17955%08d\\n\", i % 100, x, i * 400 } \
               BEGIN { x = sprintf(\"%03900d\", 0); print \"user_id,at\"; \
               for (i = 0; i < 12000; i++) line(i); for (i = 0; i < 20; i++) line(i) }";
    let (printed, code) = folder.shell(&format!(
        "awk '{awk}' | keyderive simulate - daily --no-remedies --format json 2>&1 >data.json"
    ));
    let note = printed.lines().find(|line| line.starts_with("note: "));
    let note = note.unwrap_or_else(|| panic!("{code} {printed}"));
    assert!(note.starts_with("note: 20 of 12020 events come after others of a much later time"), "{note}");
    let command =
        "sort the input by time, as does `(head -n 1 FILE; tail -n +2 FILE | LC_ALL=C sort -t , -k 2,2)`";
    assert!(note.ends_with(command), "{note}");
    let data = |name| -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(folder.path().join(name)).unwrap()).unwrap()
    };
    let found = data("data.json");
    assert_eq!((&found["events"], &found["late_events"]), (&12_020.into(), &20.into()));
    // The same in order has none, and no note.
    let (printed, code) = folder.shell(&format!(
        "awk '{awk}' >late.csv; (head -n 1 late.csv; tail -n +2 late.csv | LC_ALL=C sort -t , -k 2,2) | \
         keyderive simulate - daily --no-remedies --format json 2>&1 >sorted.json"
    ));
    assert!(code == 0 && !printed.contains("note: "), "{printed}");
    let found = data("sorted.json");
    assert_eq!((&found["events"], &found["late_events"]), (&12_020.into(), &0.into()));
    // Lines of JSON are sorted by another program.
    let awk = awk.replace("u%d%s,17955%08d", "{\\\"user_id\\\":\\\"u%d%s\\\",\\\"at\\\":17955%08d}");
    let awk = awk.replace("print \"user_id,at\"; ", "");
    let (printed, code) = folder.shell(&format!(
        "awk '{awk}' | keyderive simulate - daily --input-format json --no-remedies --format json 2>&1 >data.json"
    ));
    assert!(
        code == 0 && printed.contains("note: 20 of 12020 events") && printed.contains("`jq -cs 'sort_by("),
        "{printed}"
    );
    assert_eq!(data("data.json")["late_events"], 20);
}

#[test]
fn lines_that_are_no_event_stop_it_or_are_left_out() {
    let folder = folder("bad");
    let good = tables::views(300);
    let bad = good.replacen("\n2026", "\nyesterday\n2026", 3).replacen(
        "\nyesterday\n",
        "\nyesterday,u-1,\"\u{1b}[2J\"\n",
        2,
    );
    let run = |arguments: &[&str]| {
        folder.run(&[&["simulate", "-", "daily"], &NAMES[..], arguments].concat(), bad.as_bytes())
    };
    let (out, error, code) = text(&run(&[]));
    assert_eq!((out.as_str(), code), ("", Some(3)));
    assert!(
        error.starts_with("error: line 2: ") && error.contains("`at`") && error.contains("--bad-lines"),
        "{error}"
    );
    let skipped = run(&["--bad-lines", "skip=bad.json", "--format", "json"]);
    assert_eq!((skipped.status.code(), &json(&skipped)["bad_lines"]), (Some(1), &3.into()));
    assert_eq!(json(&skipped)["events"], 300);
    assert_harmless(&skipped, "bad lines");
    let kept = fs::read_to_string(folder.path().join("bad.json")).unwrap();
    assert!(kept.starts_with("{\"line\":2,\"error\":") && kept.lines().count() == 3, "{kept}");

    for (arguments, input, expected) in [
        (&["daily"][..], "at,user_id\n", "the workload has no events"),
        (&["daily"], "", "csv begins with a line of names"),
        (&["daily"], "at,user\n", "the input has no field `user_id` of the key"),
        (&["daily", "--map", "a=b"], "at,user_id\n", "there is no field `b`"),
        (&["daily", "--time", "when"], "at,user_id\n", "`--time when`: the input has 0 of that name"),
        (&["daily", "--variant", "salt=1"], "at,user_id\n", "`--variant salt=1`: "),
        (&["daily", "--variant", "first=page"], "at,user_id\n", "there is no field `page`"),
        (&["daily", "--variant", "faster"], "at,user_id\n", "write `salt=16`"),
        (&["daily", "--read", "page"], "at,user_id\n", "`--read page`: there is no field `page`"),
        (&["daily", "--below", "20"], "at,user_id\n", "write a share of 0 to 1"),
        (&["daily", "--svg", "x", "--html", "x"], "at,user_id\n", "is the file of --svg and of --html"),
        (&["other"], "at,user_id\n", "other"),
    ] {
        let (out, error, code) =
            text(&folder.run(&[&["simulate", "-"], arguments].concat(), input.as_bytes()));
        assert!(
            out.is_empty() && matches!(code, Some(2 | 3)) && error.contains(expected),
            "{arguments:?}: {code:?} {error}"
        );
    }
}

#[test]
fn hostile_events() {
    let (folder, mut random) = (folder("hostile-events"), Rng::with_seed(9));
    let rounds = if std::env::var_os("KEYDERIVE_LONG_TESTS").is_some() { 200 } else { 12 };
    let parts = [
        "\u{1b}[31m",
        "\u{9b}2J",
        "\u{202e}",
        "\"",
        ",",
        "\n",
        "\0",
        "é",
        "#",
        "9223372036854775807",
        "0001-01-01T00:00:00Z",
    ];
    for round in 0..rounds {
        let mut input = tables::views(80).into_bytes();
        for _ in 0..random.usize(1..40) {
            let at = random.usize(16..input.len());
            input.splice(at..at, parts[random.usize(..parts.len())].bytes());
        }
        let table = ["daily", "salted"][round % 2];
        let arguments = [
            &["simulate", "-", table, "--bad-lines", "skip=bad.json", "--variant", "first=user_id"],
            &NAMES[..],
        ]
        .concat();
        assert_harmless(&folder.run(&arguments, &input), &String::from_utf8_lossy(&input));
    }
    // With colours there are their escapes, and no others.
    let input = "at,user_id\n".to_owned() + &"2026-11-24T00:00:00Z,\u{9b}2J\u{202e}x\n".repeat(50);
    fs::write(folder.path().join("x.csv"), input).unwrap();
    let (printed, code) =
        folder.shell("CLICOLOR_FORCE=1 keyderive simulate x.csv daily --variant first=user_id");
    let escapes = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap();
    let left = escapes.replace_all(&printed, "");
    assert!(code == 0 && left.len() < printed.len(), "{printed}");
    assert!(!left.contains(|char: char| char.is_control() && char != '\n'), "{left:?}");
    let (printed, _) = folder.shell("NO_COLOR=1 CLICOLOR_FORCE=1 keyderive simulate x.csv daily");
    assert!(!printed.contains('\u{1b}'), "{printed}");
}

#[test]
fn a_long_input_takes_bounded_memory() {
    let folder = folder("long");
    let is_long = std::env::var_os("KEYDERIVE_LONG_TESTS").is_some();
    // Of 5 kB each: the whole would not fit.
    let lines = if is_long { 200_000 } else { 20_000 };
    let memory = if is_long { 200_000 } else { 90_000 };
    let awk = "BEGIN { x = sprintf(\"%5000s\", \"\"); print \"at,user_id,page\"; \
               for (i = 0; i < n; i++) printf \"17955%08d,u%d,%s\\n\", i * 10, i % 1000, x }";
    let command = format!(
        "awk -v n={lines} '{awk}' | (ulimit -v {memory}; keyderive simulate - salted --variant salt=none --format json) | grep -v progress"
    );
    let (printed, code) = folder.shell(&command);
    assert!(code == 0 && printed.contains(&format!("\"events\":{lines},")), "{printed}");
}

const INSTANCE: &str = "projects/keyderive/instances/local";

/// A service with one cluster and a hot tablet whose keys are not UTF-8.
fn service(request: &Request) -> Answer {
    match request.rpc {
        Rpc::ListClusters => Answer::new().send(&ListClustersResponse {
            clusters: vec![Cluster { name: format!("{INSTANCE}/clusters/eu") }],
            ..Default::default()
        }),
        Rpc::ListHotTablets => Answer::new().send(&ListHotTabletsResponse {
            hot_tablets: vec![HotTablet {
                name: format!("{INSTANCE}/clusters/eu/hotTablets/7"),
                table_name: format!("{INSTANCE}/tables/things"),
                start_time: Some(Timestamp { seconds: 1_795_500_000, nanos: 0 }),
                end_time: Some(Timestamp { seconds: 1_795_500_060, nanos: 0 }),
                start_key: b"m\xff\x1b[2J<".to_vec().into(),
                end_key: b"p\xff".to_vec().into(),
                node_cpu_usage_percent: 71.4,
            }],
            ..Default::default()
        }),
        Rpc::GetTable => Answer::table(["cf"]),
        _ => Answer::failure(Code::Internal),
    }
}

#[test]
fn a_table_is_drawn_with_its_hot_tablets() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mock = Mock::new().admin_by(service).by(|request| match request.rpc {
        Rpc::SampleRowKeys => Answer::samples([("g", 1000), ("n", 1400), ("", 2000)]),
        _ => Answer::failure(Code::Internal),
    });
    let address = format!("emulator://{}/keyderive/local", runtime.block_on(mock.listen()));
    let folder = Folder::new("hot");
    fs::write(folder.path().join("layouts.json"), tables::thing_layouts()).unwrap();
    let run = |arguments: &[&str]| {
        folder.run(&[&["heat", "things", "--address", &address], arguments].concat(), b"")
    };
    let output = run(&[]);
    let (printed, error, code) = text(&output);
    assert_eq!(code, Some(0), "{error}");
    assert_harmless(&output, "heat");
    assert!(printed.starts_with("things: about 2000 bytes in 3 parts\n"), "{printed}");
    let hot: Vec<_> = printed.lines().filter(|line| line.ends_with("71 %")).collect();
    assert_eq!(hot.len(), 2, "{printed}");
    assert!(
        printed.contains("not load") && printed.contains("71 % of a node") && printed.contains(r"\xff"),
        "{printed}"
    );
    // The library draws what is recorded alone.
    let (_, error, code) = text(&run(&["--svg", "heat.svg"]));
    assert!(code == Some(2) && error.contains("--snapshot"), "{error}");
    let data = json(&run(&["--format", "json"]));
    assert_eq!((&data["bytes"], &data["parts"][1]["bytes"]), (&2000.into(), &400.into()));
    assert_eq!(data["hot_tablets"][0]["start"], r#"m\xff\x1b[2J<"#);
    runtime.shutdown_timeout(Duration::from_secs(1));
}

#[test]
fn snapshots_of_several_processes_are_drawn_as_one() {
    let folder = Folder::new("snapshots");
    fs::write(folder.path().join("layouts.json"), tables::thing_layouts()).unwrap();
    for (process, name) in ["one.json", "two.json"].into_iter().enumerate() {
        let recorder = Recorder::new();
        for number in 0..2000_u32 {
            let key = match number % 2 {
                0 => b"hot\x1b[2J<\xff".to_vec(),
                _ => format!("{:03}", number * 7 % 1000 + process as u32).into_bytes(),
            };
            let time = 1_764_288_000_000 + i64::from(number) * 10;
            recorder.record("things", &key, Access::Write, 100, time);
            recorder.record("others", b"k", Access::Read, 1, time);
        }
        let json = serde_json::to_string(&recorder.snapshot()).unwrap();
        fs::write(folder.path().join(name), json).unwrap();
    }
    fs::write(folder.path().join("none.json"), "{}").unwrap();

    let both = ["heat", "things", "--snapshot", "one.json", "two.json"];
    // No Bigtable is there, and none is asked.
    let run = |arguments: &[&str]| folder.run(arguments, b"");
    let output = run(&[&both[..], &["--svg", "heat.svg", "--html", "heat.html"]].concat());
    let (printed, error, code) = text(&output);
    assert_eq!(code, Some(0), "{error}");
    assert_harmless(&output, "heat");
    assert!(printed.starts_with("4000 writes, 0 reads and 400000 bytes from 2025-11-28 00:00"), "{printed}");
    assert!(printed.contains("The busiest range takes 5") && printed.contains("50 %   "), "{printed}");
    for name in ["heat.svg", "heat.html"] {
        let drawn = fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(drawn.contains("things") && !drawn.contains('\u{1b}') && !drawn.contains("2J<"), "{drawn}");
    }
    let data = json(&run(&[&both[..], &["--format", "json"]].concat()));
    assert_eq!((&data["writes"], &data["snapshots"]), (&4000.into(), &2.into()));
    let one = json(&run(&["heat", "things", "--snapshot", "one.json", "--format", "json"]));
    assert_eq!(one["writes"], 2000);

    for (arguments, fault) in [
        (&["heat", "absent", "--snapshot", "one.json"][..], "these something is: `others`, `things`"),
        (
            &["heat", "things", "--snapshot", "one.json", "none.json"],
            "`none.json` is not read: missing field",
        ),
        (&["heat", "things", "--snapshot", "absent.json"], "`absent.json` is not read: "),
    ] {
        let (_, error, code) = text(&run(arguments));
        assert!(code != Some(0) && error.contains(fault), "{code:?} {error}");
    }
    // The others have no layout, and are drawn by their bytes.
    let (printed, error, code) = text(&run(&["heat", "others", "--snapshot", "one.json"]));
    assert!(code == Some(0) && error.contains("no layout of the table `others`"), "{error}");
    assert!(printed.contains("of the reads of its busiest 1.00 s"), "{printed}");
}
