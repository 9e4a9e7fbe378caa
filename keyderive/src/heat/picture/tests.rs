use super::*;
use crate::heat::{Access, GridBuilder};

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
    assert!(picture.caption(&picture.panels[1]).contains("the busiest range has 0.4 %"));
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
    let mut builder =
        GridBuilder::new().boundaries([&b"</script><img src=x onerror=alert(1)>"[..], b"\x1b[2J\xff"]);
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
