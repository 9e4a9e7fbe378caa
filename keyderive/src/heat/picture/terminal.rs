//! Pictures in a terminal: two rows in each line, as half blocks in colours, or as shades without.

use std::fmt::Write as _;

use super::{Picture, palette, shortened};
use crate::heat::report::percent;

/// How wide the labels of keys are.
const LABELS: usize = 22;
/// From nothing to the end of the scale.
const SHADES: [char; 10] = [' ', '.', ':', '-', '=', '+', '*', '#', '%', '@'];

impl Picture<'_> {
    /// For a terminal with 24-bit colours: `lines` lines of keys for each grid, `columns` wide. Each line is two rows, as half blocks.
    #[must_use]
    pub fn terminal(&self, columns: usize, lines: usize) -> String {
        self.lines(columns, lines, true)
    }

    /// The same without colours and escapes, one row a line: for the message of a test, and logs.
    ///
    /// ```
    /// # use keyderive::heat::{Access, GridBuilder, Picture};
    /// # let mut grid = GridBuilder::new();
    /// # (0..100).for_each(|second| grid.record(second * 1000, b"key", Access::Write, 1));
    /// # let grid = grid.grid();
    /// println!("{}", Picture::new().panel("events", &grid, None).text(80, 10));
    /// ```
    #[must_use]
    pub fn text(&self, columns: usize, lines: usize) -> String {
        self.lines(columns, lines, false)
    }

    fn lines(&self, columns: usize, lines: usize, has_colours: bool) -> String {
        let width = columns.saturating_sub(LABELS + 2).clamp(8, 4096);
        let lines = lines.clamp(2, 1024);
        let height = if has_colours { lines * 2 } else { lines };
        let mut out = String::new();
        for panel in &self.panels {
            let raster = self.raster(panel, width, height);
            _ = writeln!(out, "{}", shortened(&panel.name, columns));
            // A label for every fourth line, at the key where it begins.
            for line in 0..lines {
                let rows = panel.grid.rows();
                let lowest = (lines - 1 - line) * rows / lines;
                let is_labelled = line % 4 == 3 || line + 1 == lines;
                let label = if is_labelled { panel.short_label(lowest, LABELS) } else { String::new() };
                _ = write!(out, "{label:>LABELS$} ");
                if has_colours {
                    let pairs = raster[line * 2].iter().zip(&raster[line * 2 + 1]);
                    let mut last = None;
                    for (upper, lower) in pairs.map(|(upper, lower)| (self.level(*upper), self.level(*lower)))
                    {
                        let pair = (palette::colour(upper), palette::colour(lower));
                        if last.replace(pair) != Some(pair) {
                            let ([r, g, b], [r2, g2, b2]) = pair;
                            _ = write!(out, "\x1b[38;2;{r};{g};{b}m\x1b[48;2;{r2};{g2};{b2}m");
                        }
                        out.push('▀');
                    }
                    out.push_str("\x1b[0m");
                } else {
                    out.extend(raster[line].iter().map(|share| shade(self.level(*share))));
                }
                out.push('\n');
            }
            let [from, until] = panel.times();
            let gap = width.saturating_sub(from.chars().count());
            _ = writeln!(out, "{:>LABELS$} {from}{until:>gap$}", "");
            _ = writeln!(out, "{:>LABELS$} {}", "", self.legend(has_colours));
            let caption = format!("{}; {}", self.caption(), self.busiest(panel, self.measure));
            _ = writeln!(out, "{}", wrapped(&caption, columns));
        }
        out
    }

    /// The scale from left to right.
    fn legend(&self, has_colours: bool) -> String {
        let marks: &[f64] =
            if self.is_logarithmic { &[0.001, 0.01, 0.1, 1.0] } else { &[0.05, 0.25, 0.5, 1.0] };
        let mark = |share: &f64| {
            let level = self.level(*share);
            let [r, g, b] = palette::colour(level);
            let sign = if has_colours {
                format!("\x1b[48;2;{r};{g};{b}m  \x1b[0m")
            } else {
                shade(level).to_string()
            };
            format!("{sign} {}", percent(*share))
        };
        marks.iter().map(mark).collect::<Vec<_>>().join("  ")
    }
}

fn shade(level: f64) -> char {
    // What is more than nothing is seen.
    let least = usize::from(level > 0.0);
    SHADES[((level * (SHADES.len() - 1) as f64).round() as usize).clamp(least, SHADES.len() - 1)]
}

/// In lines of at most so many signs.
fn wrapped(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut len = 0;
    for word in text.split(' ') {
        let new = word.chars().count();
        if len > 0 && len + 1 + new > columns {
            out.push('\n');
            len = 0;
        } else if len > 0 {
            out.push(' ');
            len += 1;
        }
        out.push_str(word);
        len += new;
    }
    out
}
