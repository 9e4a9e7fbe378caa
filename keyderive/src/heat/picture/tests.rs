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
        (panel.label(1), panel.short_label(1, most))
    };
    let events = KeyLayout::of::<EventKey>();
    for (boundary, long, short) in [
        // A time that is cut is that of its least digits.
        (&b"5#17672275"[..], "bucket 5, at 2026-01-01T00:31:40Z", "bucket 5, …01-01 00:31"),
        (b"5", "`5`", "`5`"),
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
    assert_eq!(label(&hashed, b"985e", 22).0, "user `985e`");
    let whole = b"985e78d3f903b7f8cdf48795f4ae9847#";
    assert_eq!(label(&hashed, whole, 22).1, "user hash …795f4ae9847");
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
    assert!(busiest.starts_with("the busiest range, at 1970-01-01 00:00, has 0.4 %"), "{busiest}");
    let logarithmic = picture.logarithmic(true);
    assert_eq!(logarithmic.level(0.01), 0.5);
    assert_eq!(logarithmic.level(1e-9), 0.0);
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
    assert!(blocks.clone().count() == 12 && blocks.clone().all(|line| line.matches('▀').count() == 56));
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
