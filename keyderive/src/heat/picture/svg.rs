//! A picture as SVG: a path for each colour, without scripts, fonts or images of elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Picture, palette, shortened};

/// The element that a picture begins with, but for its size.
const OPEN: &str = include_str!("open.svg");
/// How many places a panel has, and each of several, which a page shows beside each other.
const COLUMNS: usize = 180;
const COLUMNS_OF_SEVERAL: usize = 120;
const ROWS: usize = 90;
/// How large a place is.
const PLACE: usize = 3;
/// How many colours there are between nothing and the end of the scale.
const COLOURS: f64 = 32.0;
const LABELS: usize = 190;
/// How many signs of a label fit there, most of them digits.
const LABEL_SIGNS: usize = 25;
const TOP: usize = 34;
const BOTTOM: usize = 84;
const LABEL_LINES: usize = 5;

impl Picture<'_> {
    /// The picture as SVG, which a README shows: each grid with its keys, times and scale.
    #[must_use]
    pub fn svg(&self) -> String {
        let columns = if self.panels.len() > 1 { COLUMNS_OF_SEVERAL } else { COLUMNS };
        let (width, height) = (columns * PLACE, ROWS * PLACE);
        let panel_width = LABELS + width + 16;
        let all = (panel_width * self.panels.len().max(1), TOP + height + BOTTOM);
        let mut out = OPEN.trim_end().to_owned();
        _ = writeln!(out, " viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">", all.0, all.1);
        _ = writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
        for (at, panel) in self.panels.iter().enumerate() {
            let left = at * panel_width + LABELS;
            _ = writeln!(
                out,
                "<g transform=\"translate({left} {TOP})\"><title>{}</title>\n<text y=\"-12\" font-size=\"14\" font-weight=\"bold\">{}</text>",
                escaped(&panel.name),
                escaped(&shortened(&panel.name, width / 8))
            );
            let nothing = palette::hex(palette::NOTHING);
            _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"{nothing}\"/>");
            let mut paths: BTreeMap<String, String> = BTreeMap::new();
            let raster = self.raster(panel, columns, ROWS);
            let mut y = 0;
            // A range is drawn on several lines, which are alike.
            for lines in raster.chunk_by(|one, other| one == other) {
                let colours: Vec<_> = lines[0].iter().map(|share| self.colour_of(*share)).collect();
                let (mut x, high) = (0, lines.len());
                for run in colours.chunk_by(|one, other| one == other) {
                    if run[0] != palette::NOTHING {
                        let path = paths.entry(palette::hex(run[0])).or_default();
                        let wide = run.len();
                        _ = write!(path, "M{x} {y}h{wide}v{high}h-{wide}z");
                    }
                    x += run.len();
                }
                y += high;
            }
            _ = writeln!(out, "<g transform=\"scale({PLACE})\" shape-rendering=\"crispEdges\">");
            for (colour, path) in paths {
                _ = writeln!(out, "<path fill=\"{colour}\" d=\"{path}\"/>");
            }
            out.push_str("</g>\n");
            for line in 0..LABEL_LINES {
                let row = line * panel.grid.rows() / LABEL_LINES;
                let y = height - line * height / LABEL_LINES;
                _ = writeln!(
                    out,
                    "<path d=\"M-4 {y}h4\" stroke=\"#555\"/><text x=\"-7\" y=\"{}\" text-anchor=\"end\" fill=\"#333\">{}</text>",
                    y - 2,
                    escaped(&panel.short_label(row, LABEL_SIGNS))
                );
            }
            let [from, until] = panel.times();
            let (below, line) = (height + 14, height + 30);
            _ = writeln!(
                out,
                "<text y=\"{below}\" fill=\"#333\">{from} UTC</text><text x=\"{width}\" y=\"{below}\" text-anchor=\"end\" fill=\"#333\">{until} UTC</text>"
            );
            let marks = if self.is_logarithmic {
                [0.01, 0.1, 1.0, 10.0, 100.0]
            } else {
                [5.0, 25.0, 50.0, 75.0, 100.0]
            };
            for (at, mark) in marks.into_iter().enumerate() {
                let x = at * 62;
                _ = writeln!(
                    out,
                    "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"{line}\" fill=\"#333\">{mark} %</text>",
                    line - 9,
                    palette::hex(self.colour_of(f64::max(mark / 100.0, super::LEAST * 1.001))),
                    x + 16
                );
            }
            let (caption, busiest) = (self.caption(), self.busiest(panel, self.measure));
            for (at, text) in std::iter::once(&*caption).chain(busiest.split("; ")).enumerate() {
                let y = line + 17 + at * 15;
                _ = writeln!(out, "<text y=\"{y}\" fill=\"#333\">{}</text>", escaped(text));
            }
            out.push_str("</g>\n");
        }
        out.push_str("</svg>\n");
        out
    }

    /// The colour of a share, one of few.
    fn colour_of(&self, share: f64) -> [u8; 3] {
        let level = self.level(share);
        // What is not nothing stays so, and what is over stays so.
        let step = if level <= 1.0 { (level * COLOURS).ceil() / COLOURS } else { level };
        palette::colour(if share > 0.0 { step.max(1.0 / COLOURS) } else { 0.0 })
    }
}

/// As text of XML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML has no name for these.
            sign if sign.is_control() || matches!(sign, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            sign => out.push(sign),
        }
    }
    out
}
