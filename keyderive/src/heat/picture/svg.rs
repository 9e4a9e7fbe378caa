//! A picture as SVG: a path for each colour, without scripts, fonts or images of elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::terminal::wrapped;
use super::{COLOURS, END, LABEL_SIGNS, Picture, UPWARDS, least_mark, mark, palette, places, shortened};

/// The opening element of a picture, without its size.
const OPEN: &str = include_str!("open.svg");
/// The most columns of a panel, of each of several panels side by side, and the most ranges. Fewer are drawn as they are.
const COLUMNS: usize = 180;
const COLUMNS_OF_SEVERAL: usize = 100;
const ROWS: usize = 90;
/// How wide a panel is for each of these, and how high.
const PLACE: usize = 3;
/// How wide the labels of keys are, most of them digits, and the name of their axis.
const LABELS: usize = 206;
/// What a legend can need to the right of a panel.
const MARGIN: usize = 30;
const TOP: usize = 34;
const LABEL_LINES: usize = 8;
/// How wide a sign is, about.
const SIGN: usize = 7;
/// How high a line of text is.
const LINE: usize = 17;

impl Picture<'_> {
    /// The picture as SVG, which a README shows: each grid with its keys, times and scale.
    #[must_use]
    pub fn svg(&self) -> String {
        let most = if self.panels.len() > 1 { COLUMNS_OF_SEVERAL } else { COLUMNS };
        let (width, height) = (most * PLACE, ROWS * PLACE);
        let panel_width = LABELS + width + MARGIN;
        let wrap = |text: &String| wrapped(text, width / SIGN + 2);
        let captions: Vec<_> = self
            .panels
            .iter()
            .map(|panel| self.captions(panel).iter().map(wrap).collect::<Vec<_>>().join("\n"))
            .collect();
        let lines = captions.iter().map(|caption| caption.lines().count()).max().unwrap_or(0);
        // Below the picture are times, the time as a whole, and the legend.
        let below = height + 3 * LINE + 6;
        let all = (panel_width * self.panels.len().max(1), TOP + below + lines * LINE + 10);
        let mut out = OPEN.trim_end().to_owned();
        _ = writeln!(out, " viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">", all.0, all.1);
        _ = writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
        for (at, (panel, caption)) in self.panels.iter().zip(&captions).enumerate() {
            let left = at * panel_width + LABELS;
            _ = writeln!(
                out,
                "<g transform=\"translate({left} {TOP})\"><title>{}</title>\n<text y=\"-12\" font-size=\"14\" font-weight=\"bold\" fill=\"#000\">{}</text>",
                escaped(&panel.name),
                escaped(&shortened(&panel.name, width / 8))
            );
            let nothing = palette::hex(palette::NOTHING);
            _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"{nothing}\"/>");
            let (columns, rows) = (panel.grid.columns().clamp(1, most), panel.grid.rows().clamp(1, ROWS));
            let (x, y) = (width as f64 / columns as f64, height as f64 / rows as f64);
            _ = writeln!(out, "<g transform=\"scale({x:.4} {y:.4})\" shape-rendering=\"crispEdges\">");
            for (colour, path) in self.paths(&self.raster(panel, columns, rows)) {
                _ = writeln!(out, "<path fill=\"{colour}\" d=\"{path}\"/>");
            }
            out.push_str("</g>\n");
            _ = writeln!(
                out,
                "<path d=\"M-4 0h4\" stroke=\"#555\"/><text x=\"-7\" y=\"8\" text-anchor=\"end\">{END}</text>\n<text transform=\"rotate(-90)\" x=\"-{}\" y=\"-{}\" text-anchor=\"middle\">{UPWARDS}</text>",
                height / 2,
                LABELS - 14
            );
            for line in 0..LABEL_LINES {
                let row = line * panel.grid.rows() / LABEL_LINES;
                let y = height - places(row, panel.grid.rows(), rows).start * height / rows;
                _ = writeln!(
                    out,
                    "<path d=\"M-4 {y}h4\" stroke=\"#555\"/><text x=\"-7\" y=\"{}\" text-anchor=\"end\">{}</text>",
                    y + 4,
                    escaped(&panel.short_label(row, LABEL_SIGNS, ", "))
                );
            }
            let mut free = 0;
            for (at, label) in panel.ticks(width / 60) {
                let x = (at * width as f64).round() as usize;
                _ = write!(out, "<path d=\"M{x} {height}v4\" stroke=\"#555\"/>");
                let wide = label.chars().count() * SIGN;
                let (start, anchor) = match x {
                    x if x < wide / 2 => (x, "start"),
                    x if x + wide / 2 > width => (x.saturating_sub(wide), "end"),
                    x => (x - wide / 2, "middle"),
                };
                if start >= free {
                    free = start + wide + SIGN;
                    _ = write!(
                        out,
                        "<text x=\"{x}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
                        height + LINE,
                        escaped(&label)
                    );
                }
                out.push('\n');
            }
            _ = writeln!(out, "<text y=\"{}\">{}</text>", height + 2 * LINE, escaped(&panel.times()));
            self.swatches(&mut out, height + 3 * LINE + 4);
            for (at, text) in caption.lines().enumerate() {
                _ = writeln!(out, "<text y=\"{}\">{}</text>", below + (at + 1) * LINE, escaped(text));
            }
            out.push_str("</g>\n");
        }
        out.push_str("</svg>\n");
        out
    }

    /// A path for each colour, in which a place is 1 wide and high.
    fn paths(&self, raster: &[Vec<f64>]) -> BTreeMap<String, String> {
        let mut paths: BTreeMap<String, String> = BTreeMap::new();
        let mut y = 0;
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
        paths
    }

    /// The colours of the scale from left to right, with their shares.
    fn swatches(&self, out: &mut String, y: usize) {
        let none = (palette::NOTHING, format!("no {}", self.measure.name()));
        let least = (palette::colour(1.0 / COLOURS), least_mark(1.0 / COLOURS, self.is_logarithmic));
        let mark = |share: &f64| (self.colour_of(*share), mark(*share));
        let more = (!self.is_of_table).then(|| (palette::OVER, "more".to_owned()));
        let mut x = 0;
        for (colour, label) in [none, least].into_iter().chain(self.marks().iter().map(mark)).chain(more) {
            _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{}\" width=\"11\" height=\"10\" fill=\"{}\" stroke=\"#555\"/><text x=\"{}\" y=\"{y}\">{label}</text>",
                y - 9,
                palette::hex(colour),
                x + 15
            );
            x += 23 + label.chars().count() * SIGN * 13 / 14;
        }
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
