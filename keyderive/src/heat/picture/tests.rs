use std::time::SystemTime;

use super::*;
use crate::RowKey;
use crate::heat::{Access, GridBuilder};

#[derive(RowKey)]
#[salt(range = 8)]
struct EventKey {
    #[row_key(ts(unit = "millis"))]
    at: SystemTime,
    user: String,
}

#[derive(RowKey)]
#[row_key(allow(point_reads))]
struct HashedKey {
    #[row_key(hash(md5))]
    user: String,
    at: u64,
}

#[test]
fn a_boundary_is_labelled_by_fields() {
    let label = |layout: &KeyLayout, boundary: &[u8], most: usize| {
        let mut grid = GridBuilder::new().boundaries([boundary]);
        grid.record(0, boundary, Access::Write, 1);
        let (grid, name) = (grid.grid(), String::new());
        let panel = Panel { name, grid: &grid, layout: Some(layout) };
        assert_eq!(panel.label(0), "start of table");
        (panel.label(1), panel.short_label(1, most, ", "))
    };
    let events = KeyLayout::of::<EventKey>();
    for (boundary, long, short) in [
        // A time that is cut is that of its least digits.
        (&b"5#17672275"[..], "bucket 5, at 2026-01-01T00:31:40Z", "bucket 5, at 01-0…0:31"),
        (b"5", "bucket 5", "bucket 5"),
        (b"5#", "bucket 5", "bucket 5"),
        (
            b"5#1767227460000#alice\0",
            "bucket 5, at 2026-01-01T00:31:00Z, user \"alice\"",
            "bucket 5, at 01-01 00:31",
        ),
        (b"5#9x", "bucket 5, at `9x`", "bucket 5, at `9x`"),
    ] {
        let most = if short.ends_with("at 01-01 00:31") { 24 } else { 22 };
        assert_eq!(label(&events, boundary, most), (long.to_owned(), short.to_owned()));
    }
    let hashed = KeyLayout::of::<HashedKey>();
    assert_eq!(label(&hashed, b"985e", 22).0, "hash of user `985e`");
    let whole = b"985e78d3f903b7f8cdf48795f4ae9847#";
    assert_eq!(label(&hashed, whole, 22).1, "hash of user 985e…9847");
}

/// A number can count anything, also with `#[reverse_ts]`.
#[test]
fn a_field_is_a_time_if_its_type_is() {
    #[derive(RowKey)]
    struct Newest {
        user: String,
        #[reverse_ts]
        #[row_key(ts(unit = "millis"))]
        at: SystemTime,
    }
    #[derive(RowKey)]
    struct NewestNumber {
        user: String,
        #[reverse_ts]
        at: u64,
    }
    let label = |layout: &KeyLayout, boundary: Vec<u8>| {
        let mut grid = GridBuilder::new().boundaries([boundary]);
        grid.record(0, b"", Access::Write, 1);
        let (grid, name) = (grid.grid(), String::new());
        Panel { name, grid: &grid, layout: Some(layout) }.short_label(1, 40, ", ")
    };
    let (user, number) = ("u".to_owned(), 1_767_227_460_000);
    let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(number);
    let time = Newest { user: user.clone(), at }.encode().unwrap();
    assert_eq!(label(&KeyLayout::of::<Newest>(), time), "user \"u\", at 2026-01-01 00:31");
    let number = NewestNumber { user, at: number }.encode().unwrap();
    assert_eq!(label(&KeyLayout::of::<NewestNumber>(), number), "user \"u\", at 1767227460000");
}

#[test]
fn a_name_of_a_field_is_whole_or_left_out() {
    let layout = KeyLayout::of::<EventKey>();
    let mut grid = GridBuilder::new().boundaries([&b"5#1767227460000#alice"[..]]);
    grid.record(0, b"5#", Access::Write, 1);
    let grid = grid.grid();
    let panel = Panel { name: String::new(), grid: &grid, layout: Some(&layout) };
    for most in 0..60 {
        let label = panel.short_label(1, most, " · ");
        assert!(label.chars().count() <= most.max(1), "{label}");
        let names = label.split(" · ").map(|part| part.split(' ').next().unwrap());
        // Without its name, a part begins with its value.
        let is_whole = |name: &str| ["bucket", "at", "user"].contains(&name) || name.starts_with(['0', '"']);
        assert!(most < 10 || names.clone().all(is_whole), "{label}");
        // A time is not cut to nothing.
        assert!(
            most < 10
                || !label.contains("…")
                || label.split(" · ").last().unwrap().chars().count() >= VALUE_SIGNS,
            "{label}"
        );
    }
}

/// A range that is split shows its earlier load in all of its parts, and the picture says so.
#[test]
fn ranges_that_were_split_are_said_to_be_tall() {
    let mut builder = GridBuilder::new();
    for second in 0..20_000_i64 {
        builder.record(second * 1000, format!("{second:05}").as_bytes(), Access::Write, 1);
    }
    let split = builder.grid();
    let mut given = GridBuilder::new().boundaries(["b"]);
    [b"a", b"b"].into_iter().for_each(|key| given.record(0, key, Access::Write, 1));
    let given = given.grid();
    let notes = |grid| Picture::new().of_table(true).panel("", grid, None).text(80, 8).replace('\n', " ");
    let (until, tall) = ("as load grows: until ", ", a tall cell is one range");
    let notes_of_split = notes(&split);
    let time =
        notes_of_split.split_once(until).and_then(|(_, rest)| rest.split_once(tall)).map(|(time, _)| time);
    // All of what is split is cold a while before the end.
    assert!(
        split.rows() > 1 && time.is_some_and(|time| ("00:05".."05:33").contains(&time)),
        "{notes_of_split}"
    );
    assert!(!notes(&given).contains(tall));
    assert!(notes(&given).contains("evenly spread over 2 ranges each would have 50 %"));
}

/// One range is written 50 times a second for a second, the others once.
fn spiked() -> Grid {
    let mut builder = GridBuilder::new().limits(512, 512).boundaries((1..200).map(|at| format!("{at:03}")));
    for second in 0..400_i64 {
        for key in 0..200 {
            builder.record(second * 1000, format!("{key:03}x").as_bytes(), Access::Write, 10);
        }
        if second == 123 {
            (0..49).for_each(|_| builder.record(second * 1000, b"077x", Access::Write, 10));
        }
    }
    builder.grid()
}

#[test]
fn a_place_of_many_cells_has_the_busiest_of_them() {
    let grid = spiked();
    let picture = Picture::new().panel("events", &grid, None);
    for (width, height) in [(8, 2), (79, 12), (180, 90), (1000, 700)] {
        let raster = picture.raster(&picture.panels[0], width, height);
        let most = raster.iter().flatten().fold(0.0, |most: f64, share| most.max(*share));
        assert_eq!(most, 50.0 / 14_000.0, "{width} × {height}");
    }
}

#[test]
fn a_scale_is_one_for_all_panels_and_absolute() {
    let (grid, mut small) = (spiked(), GridBuilder::new());
    (0..100).for_each(|second| small.record(second * 1000, b"a", Access::Write, 1));
    let small = small.grid();
    let picture = Picture::new().panel("large", &grid, None).panel("small", &small, None);
    assert_eq!(picture.whole(&grid, Measure::Writes), 14_000.0);
    let picture = picture.of_table(true);
    assert_eq!(picture.whole(&grid, Measure::Writes), 249.0);
    assert_eq!(picture.whole(&small, Measure::Writes), 249.0);
    let busiest = picture.busiest(&picture.panels[1], Measure::Writes);
    assert_eq!(busiest, "the busiest range, a, at 00:00, has 0.4 %: 1.00 writes a second");
    let caption = picture.caption(&picture.panels[1], Measure::Writes);
    assert_eq!(caption, "100 % is all writes of the table's busiest second: 249 writes a second");
    let logarithmic = picture.logarithmic(true);
    assert_eq!(logarithmic.level(0.01), 0.5);
    assert!(logarithmic.level(1e-9) > 0.0);
}

/// What 100 % is comes from the node, and rates are those of the real load.
#[test]
fn of_a_sample_rates_are_those_of_all_events() {
    let grid = spiked();
    let model = TabletModel { scale: 10.0, ..TabletModel::default() };
    let picture = Picture::new().panel("events", &grid, None).model(&model);
    let panel = &picture.panels[0];
    assert_eq!(picture.caption(panel, Measure::Bytes), "100 % is a node's capacity: 14.0 MB a second");
    assert_eq!(picture.caption(panel, Measure::Writes), "100 % is a node's capacity: 14000 writes a second");
    let busiest = picture.busiest(panel, Measure::Writes);
    assert!(busiest.ends_with("has 3.6 %: 500 writes a second"), "{busiest}");
    let rates =
        [0.0, f64::MIN_POSITIVE, 0.0149, 2.0, 999.4, 14_000.0].map(|number| rate(number, Measure::Reads));
    assert_eq!(
        rates.map(|rate| rate.replace(" reads a second", "")),
        ["0", "0", "53.6 reads an hour", "2.00", "999", "14000"]
    );
}

/// Of ranges and columns none hides another, and each legend names what is not coloured.
#[test]
fn each_range_has_places_of_its_own() {
    for (of, all) in [(1, 1), (3, 8), (8, 8), (29, 90), (64, 90), (200, 24), (513, 56)] {
        let drawn: Vec<_> = (0..of).map(|one| places(one, of, all)).collect();
        assert!(drawn.iter().all(|place| !place.is_empty()) && drawn[of - 1].end == all, "{of} in {all}");
        for pair in drawn.windows(2) {
            let is_beside = pair[0].end == pair[1].start;
            assert!(is_beside || of > all && pair[0] == pair[1], "{of} in {all}: {pair:?}");
        }
        for place in 0..all {
            assert!(drawn[first_at(place, of, all)].contains(&place), "{of} in {all}: {place}");
        }
    }
    let grid = spiked();
    let picture = Picture::new().panel("events", &grid, None).measure(Measure::Bytes);
    for text in [picture.svg(), picture.text(80, 8), picture.terminal(80, 8)] {
        assert!(text.contains("no bytes"), "{text}");
    }
    assert!(picture.html().contains("id=\"nothing\""));
}

#[test]
fn an_axis_has_round_times() {
    let ticks = |seconds: i64, slot: u64, from: i64| {
        let mut grid = GridBuilder::new().slot(std::time::Duration::from_secs(slot));
        grid.record(from * 1000, b"a", Access::Write, 1);
        grid.record((from + seconds - 1) * 1000, b"a", Access::Write, 1);
        let (grid, name) = (grid.grid(), String::new());
        let ticks = Panel { name, grid: &grid, layout: None }.ticks(5);
        assert!(ticks.iter().all(|(at, _)| (0.0..=1.0).contains(at)) && ticks.len() <= 5, "{ticks:?}");
        ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>()
    };
    let new_year = 1_767_225_600;
    assert_eq!(ticks(3600, 60, new_year), ["00:00", "00:15", "00:30", "00:45", "01:00"]);
    assert_eq!(ticks(3600, 60, new_year - 600), ["00:00", "00:15", "00:30", "00:45"]);
    assert_eq!(ticks(20, 1, new_year), ["00:00", "00:00:05", "00:00:10", "00:00:15", "00:00:20"]);
    assert_eq!(ticks(72_000, 1800, new_year + 36_000), ["12:00", "18:00", "01-02", "06:00"]);
    assert_eq!(ticks(86_400 * 8, 86_400, new_year), ["01-01", "01-03", "01-05", "01-07", "01-09"]);
    assert_eq!(ticks(86_400 * 800, 86_400, new_year)[0].len(), 10);
    assert!(ticks(1, 1 << 40, i64::MIN / 1000 + 2).len() <= 5);
}

#[test]
fn lines_are_as_wide_as_asked_for() {
    let grid = spiked();
    let picture = Picture::new().panel("events", &grid, None).of_table(true);
    let text = picture.text(80, 12);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains('@') || text.contains(':'), "{text}");
    let coloured = picture.terminal(80, 12);
    let blocks = coloured.lines().filter(|line| line.contains('▀'));
    assert!(blocks.clone().count() == 12 && blocks.clone().all(|line| line.matches('▀').count() == 54));
    assert!(blocks.clone().all(|line| line.ends_with("\x1b[0m")));
}

#[test]
fn hostile_names_and_keys_are_text_in_every_form() {
    let mut builder = GridBuilder::new().boundaries([
        &b"</script><img src=x onerror=alert(1)>"[..],
        b"\x1b[2J\xff",
        "\u{202e}x\u{2028}".as_bytes(),
    ]);
    builder.record(0, b"</script>", Access::Write, 1);
    let grid = builder.grid();
    let picture = Picture::new().panel("<b>\x1b]0;x\x07&\"'", &grid, None);
    let html = picture.html();
    let body = html.split("id=\"data\">").nth(1).unwrap();
    let data = body.split("</script>").next().unwrap();
    let json: serde_json::Value = serde_json::from_str(data).unwrap();
    assert!(
        json["panels"][0]["keys"]
            .as_array()
            .unwrap()
            .iter()
            .any(|key| key.as_str().unwrap().starts_with("</script>"))
    );
    assert!(!html.contains(['\u{202e}', '\u{2028}']) && html.contains('\u{fffd}'));
    // Two elements, and no more, end.
    assert_eq!(html.matches("</script>").count(), 2);
    assert!(!html.contains("http") || html.matches("http").count() == html.matches("http-equiv").count());
    let svg = picture.svg();
    assert!(
        !svg.contains("<b>") && !svg.contains("<img") && !svg.contains('\x1b') && !svg.contains("<script")
    );
    for svg in [svg, picture.clone().logarithmic(true).svg()] {
        // Each begins or ends an element: no text has this sign.
        let mut signs = svg.split('<').skip(1).filter_map(|rest| rest.chars().next());
        assert!(signs.all(|sign| sign == '/' || sign.is_ascii_lowercase()), "{svg}");
    }
    for text in [picture.text(80, 8), picture.terminal(80, 8)] {
        let plain = text.replace("\x1b[0m", "").replace("\x1b[38;2;", "").replace("\x1b[48;2;", "");
        assert!(!plain.contains('\x1b') && !plain.contains('\x07'), "{plain:?}");
    }
}

#[test]
fn a_picture_of_nothing_is_one() {
    let grid = GridBuilder::new().grid();
    for picture in
        [Picture::new(), Picture::new().panel("empty", &grid, None).of_table(true).logarithmic(true)]
    {
        let _ = (picture.svg(), picture.html(), picture.text(0, 0), picture.terminal(usize::MAX, usize::MAX));
    }
}
