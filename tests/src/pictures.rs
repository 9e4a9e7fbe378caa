//! The pictures of the guide "Reading a heatmap", of README and of `docs/heat` are what the guide's examples and the flights of
//! `examples/data` come to. `KEYDERIVE_BLESS=1 cargo test -p keyderive-tests --lib pictures` draws them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs, process};

use jiff::{SignedDuration, Timestamp};
use keyderive::RowKey;
use keyderive::heat::{self, Forecast, GridBuilder, Picture, SimulationError, Workload};
use serde::Deserialize;

use crate::left_out;

const GUIDE: &str = "keyderive/src/guide/heat.md";
const FLIGHTS: &[u8] = include_bytes!("../../examples/data/flights.csv");
const THIS: &str = include_str!("pictures.rs");
/// A page with several pictures is still loaded at once.
const MOST_BYTES: usize = 60_000;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// Two simulations, each with the name of its panel.
type Two = [(&'static str, Forecast); 2];

fn diagonal() -> Result<Two, SimulationError> {
    #[derive(RowKey)]
    #[row_key(allow(hotspot))]
    struct DateFirst {
        #[row_key(sequential)]
        at: u64,
        sensor: u32,
    }

    #[derive(RowKey)]
    #[salt(range = 8)]
    struct Salted {
        #[row_key(sequential)]
        at: u64,
        sensor: u32,
    }

    let minutes = || GridBuilder::new().slot(Duration::from_secs(60)).limits(64, 64);
    let draws = || Workload::uniform(1000).events(50_000).into_iter();

    let events = draws().map(|draw| {
        let key = DateFirst { at: draw.time as u64, sensor: draw.item as u32 };
        (draw.time, key, 200)
    });
    let hot = heat::simulate(events).grid(minutes()).sample(10_000).run()?;
    assert_eq!(hot.tablets.peak, 1.0);

    let events = draws().map(|draw| {
        let key = Salted { at: draw.time as u64, sensor: draw.item as u32 };
        (draw.time, key, 200)
    });
    let mended = heat::simulate(events).grid(minutes()).sample(10_000).run()?;
    assert!(mended.tablets.peak < 0.25);
    Ok([("DateFirst: at, sensor", hot), ("Salted: the same with 8 buckets", mended)])
}

fn line() -> Result<Two, SimulationError> {
    #[derive(RowKey)]
    struct PageTotal {
        #[pad(4)]
        page: u32,
    }

    #[derive(RowKey)]
    #[salt(range = 8)]
    struct PartOfTotal {
        #[pad(4)]
        page: u32,
        #[pad(2)]
        part: u8, // any of 32, which a reader adds
    }

    let minutes = || GridBuilder::new().slot(Duration::from_secs(60)).limits(64, 64);
    // Every other visit is one of page 420.
    let visits = || {
        let draws = Workload::uniform(1000).events(50_000).into_iter();
        draws.map(|draw| (draw, if draw.random % 2 == 0 { 420 } else { draw.item as u32 }))
    };

    let events = visits().map(|(draw, page)| (draw.time, PageTotal { page }, 8));
    let hot = heat::simulate(events).grid(minutes()).sample(10_000).run()?;
    assert!(hot.tablets.peak > 0.5);
    assert!(hot.heavy_keys().top(1)[0].key == b"0420");

    let events = visits().map(|(draw, page)| {
        let part = (draw.random >> 32) as u8 % 32;
        (draw.time, PartOfTotal { page, part }, 8)
    });
    let mended = heat::simulate(events).grid(minutes()).sample(10_000).run()?;
    assert!(mended.tablets.peak < 0.25);
    Ok([("PageTotal: page", hot), ("PartOfTotal: page, part, 8 buckets", mended)])
}

fn bands() -> Result<Two, SimulationError> {
    #[derive(RowKey)]
    struct MeterKey {
        #[pad(4)]
        meter: u32,
        at: u64,
    }

    let minutes = || GridBuilder::new().slot(Duration::from_secs(60)).limits(64, 20);
    let steady = Workload::uniform(1000).events(50_000);
    // Thirty times as many for three minutes of each quarter of an hour: a job.
    let bursts = steady.clone().bursts(Duration::from_secs(900), Duration::from_secs(180), 30.0);
    let simulate = |workload: Workload| {
        let events = workload.into_iter().map(|draw| {
            let key = MeterKey { meter: draw.item as u32, at: draw.time as u64 };
            (draw.time, key, 200)
        });
        heat::simulate(events).grid(minutes()).sample(10_000).run()
    };
    let (hot, mended) = (simulate(bursts)?, simulate(steady)?);
    // In each minute, the tablets have as much as each other: no key does better.
    assert!(hot.tablets.mean < 0.25 && mended.tablets.mean < 0.25);
    Ok([("MeterKey, written by a job", hot), ("MeterKey, written as readings come", mended)])
}

fn uniform() -> Result<Two, SimulationError> {
    #[derive(RowKey)]
    struct UserFirst {
        #[pad(5)]
        user: u32,
        at: u64,
    }

    #[derive(RowKey)]
    struct BitReversed {
        #[row_key(sequential, bit_reverse)]
        order: u32,
    }

    let minutes = || GridBuilder::new().slot(Duration::from_secs(60)).limits(64, 64);
    let draws = || Workload::uniform(20_000).events(50_000).into_iter();
    let events = draws().map(|draw| {
        let key = UserFirst { user: draw.item as u32, at: draw.time as u64 };
        (draw.time, key, 200)
    });
    let by_user = heat::simulate(events).grid(minutes()).sample(10_000).run()?;

    let events = draws().map(|draw| (draw.time, BitReversed { order: draw.index as u32 }, 200));
    let by_order = heat::simulate(events).grid(minutes()).sample(10_000).run()?;
    assert!(by_user.tablets.peak < 0.2 && by_order.tablets.peak < 0.2);
    Ok([("UserFirst: user, at", by_user), ("BitReversed: order", by_order)])
}

/// The departures of 1 January 2013 from New York, at their scheduled times.
fn flights() -> Result<Two, SimulationError> {
    #[derive(RowKey)]
    #[row_key(allow(hotspot))]
    struct DateFirst {
        at: Timestamp,
        carrier: String,
        #[pad(4)]
        flight: u16,
    }

    #[derive(RowKey)]
    #[salt(range = 8, over = "carrier,flight")]
    struct Salted {
        at: Timestamp,
        carrier: String,
        #[pad(4)]
        flight: u16,
    }

    #[derive(Deserialize)]
    struct Departure {
        carrier: String,
        flight: u16,
        minute: i64,
        time_hour: String,
    }

    let departures = || {
        let mut lines = csv::Reader::from_reader(FLIGHTS);
        let departures = lines.deserialize().collect::<Result<Vec<Departure>, _>>().unwrap();
        departures.into_iter().map(|departure| {
            let hour: Timestamp = departure.time_hour.parse().unwrap();
            let at = hour + SignedDuration::from_mins(departure.minute);
            (at, departure.carrier, departure.flight)
        })
    };
    let half_hours = || GridBuilder::new().slot(Duration::from_secs(1800)).limits(64, 64);
    let events = departures()
        .map(|(at, carrier, flight)| (at.as_millisecond(), DateFirst { at, carrier, flight }, 300));
    let hot = heat::simulate(events).grid(half_hours()).run()?;
    let events =
        departures().map(|(at, carrier, flight)| (at.as_millisecond(), Salted { at, carrier, flight }, 300));
    let mended = heat::simulate(events).grid(half_hours()).run()?;
    assert!(hot.tablets.peak == 1.0 && mended.tablets.peak < 0.5);
    Ok([("flights with the date first", hot), ("the same flights in 8 buckets", mended)])
}

fn picture(two: &Two) -> Picture<'_> {
    let panels = two.iter().fold(Picture::new(), |picture, (name, forecast)| {
        picture.panel(*name, forecast.grid(), Some(forecast.layout()))
    });
    panels.of_table(true)
}

/// Compares a file of the repository with what it should be, or writes it.
#[track_caller]
fn assert_is(name: &str, expected: &str) {
    if env::var_os("KEYDERIVE_BLESS").is_some() {
        fs::create_dir_all(path(name).parent().unwrap()).unwrap();
        fs::write(path(name), expected).unwrap();
    }
    let found = fs::read_to_string(path(name)).unwrap_or_default();
    // The message would be as long as the file.
    assert!(found == expected, "{name} is not what is drawn now; KEYDERIVE_BLESS=1 writes it");
}

/// The SVG of `docs/heat`, and the same as text in the guide, between the fences of the block that begins with the name of the first
/// panel.
#[track_caller]
fn assert_drawn(name: &str, two: &Two, picture: &Picture<'_>) {
    let svg = picture.svg();
    assert!(svg.len() < MOST_BYTES, "{name} has {} bytes", svg.len());
    assert_is(&format!("docs/heat/{name}.svg"), &svg);
    let lines = picture.text(79, 8);
    let text: String = lines.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    let guide = fs::read_to_string(path(GUIDE)).unwrap();
    let begin = format!("```text\n{}\n", two[0].0);
    let (before, rest) = guide.split_once(&begin).unwrap_or_else(|| panic!("{GUIDE} has no `{begin}`"));
    let (_, after) = rest.split_once("```\n").unwrap();
    assert_is(GUIDE, &format!("{before}```text\n{text}```\n{after}"));
}

#[test]
fn the_guide_and_its_files_show_what_its_examples_come_to() {
    for (name, two) in
        [("diagonal", diagonal()), ("line", line()), ("bands", bands()), ("uniform", uniform())]
    {
        let two = two.unwrap();
        // Bands are seen where what is little is seen, too.
        assert_drawn(name, &two, &picture(&two).logarithmic(name == "bands"));
    }
}

#[test]
fn readme_shows_the_flights() {
    let two = flights().unwrap();
    assert_is("docs/heat/flights.svg", &picture(&two).svg());
    let readme = fs::read_to_string(path("README.md")).unwrap();
    let text = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, quoted) = text.split_once("](docs/heat/flights.svg) \"").unwrap();
    let line = two[0].1.line();
    for part in quoted.split_once('"').unwrap().0.split(" … ") {
        assert!(line.contains(part), "README quotes `{part}` of: {line}");
    }
}

/// What a page says of itself: how many labels of times it has in all widths, and those that touch another.
const TOUCHING: &str = r#"<script>
const touching = [];
let shown = 0;
for (let wide = 320; wide <= 1600; wide += 20) {
  document.body.style.width = wide + "px"; dispatchEvent(new Event("resize"));
  for (const times of document.querySelectorAll(".times")) {
    const labels = [...times.querySelectorAll("span:not(.axis)")], edges = labels.map(label => label.getBoundingClientRect());
    if (edges.some((edge, at) => at > 0 && edges[at - 1].right > edge.left)) touching.push(wide + ": " + labels.map(label => label.textContent).join(" | "));
    shown += labels.length;
  }
}
document.title = JSON.stringify({ shown, touching });
</script></body>"#;

/// The title of a page after its scripts have run; without Chromium, says that tests are left out and returns `None`.
fn title_in_a_browser(page: &str) -> Option<String> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut found = env::split_paths(&folders)
        .flat_map(|folder| ["chromium", "chromium-browser", "google-chrome"].map(|name| folder.join(name)));
    let Some(browser) = found.find(|file| file.is_file()) else {
        left_out("pages in a browser, since there is no `chromium` on the `PATH`");
        return None;
    };
    let folder = env::temp_dir().join(format!("keyderive-page-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("page.html"), page).unwrap();
    let mut profile = OsString::from("--user-data-dir=");
    profile.push(&folder);
    // The page is our own, and root has no sandbox.
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1700,900", "--dump-dom"])
        .args([profile.as_os_str(), folder.join("page.html").as_os_str()])
        .output()
        .unwrap();
    // A process of the browser may still write into it.
    let _ = fs::remove_dir_all(&folder);
    let dom = String::from_utf8(output.stdout).unwrap();
    let title = dom.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    Some(title.unwrap_or_else(|| panic!("{}: {dom}", String::from_utf8_lossy(&output.stderr))).0.to_owned())
}

/// A date makes a label wider, and the last one has the zone.
#[test]
fn times_below_a_page_do_not_touch() {
    let page = picture(&flights().unwrap()).html().replace("</body>", TOUCHING);
    let Some(title) = title_in_a_browser(&page) else { return };
    let found: serde_json::Value = serde_json::from_str(&title).unwrap_or_else(|_| panic!("{title}"));
    assert_eq!(found["touching"], serde_json::json!([]));
    // Two panels in 65 widths have two labels at least, and the wide ones more.
    assert!(found["shown"].as_u64().is_some_and(|shown| shown > 65 * 2 * 2), "{found}");
}

/// The lines of code, without indentation.
fn code(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim())).collect()
}

#[test]
fn the_examples_of_the_guide_are_those_here() {
    let guide = fs::read_to_string(path(GUIDE)).unwrap();
    let text: String = guide.lines().map(|line| format!("{}\n", line.trim())).collect();
    let is_simulation = |block: &&str| block.contains("derive(RowKey)") && block.contains("heat::simulate");
    let blocks: Vec<_> = text.split("```").skip(1).step_by(2).filter(is_simulation).collect();
    assert_eq!(blocks.len(), 4);
    for block in blocks {
        // Rustdoc does not show the lines with this sign.
        let lines = block.trim().lines().map(|line| line.trim_start_matches("# "));
        let lines = lines.filter(|line| !line.starts_with("use ") && !line.starts_with("Ok::<"));
        let block = lines.skip_while(|line| line.is_empty()).collect::<Vec<_>>().join("\n");
        assert!(code(THIS).contains(block.trim_end()), "{block}");
    }
}
