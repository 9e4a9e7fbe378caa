//! Pictures in a terminal: two rows in each line, as half blocks in colours, or as shades without.

use std::fmt::Write as _;

use super::{
    COLOURS, END, LABEL_SIGNS as LABELS, Picture, UPWARDS, first_at, least_mark, mark, palette, shortened,
};

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
            // A label for every second line, at the key where it begins.
            for line in 0..lines {
                let lowest = first_at((lines - 1 - line) * (height / lines), panel.grid.rows(), height);
                let label = match line {
                    0 => END.to_owned(),
                    _ if line % 2 == 1 || line + 1 == lines => panel.short_label(lowest, LABELS, ", "),
                    _ => String::new(),
                };
                _ = write!(out, "{label:>LABELS$} ");
                if has_colours {
                    let pairs = raster[line * 2].iter().zip(&raster[line * 2 + 1]);
                    let mut last = None;
                    for pair in pairs.map(|(upper, lower)| (self.colour_of(*upper), self.colour_of(*lower))) {
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
            _ = writeln!(out, "{UPWARDS:>LABELS$} {}", axis(&panel.ticks(width / 9), width));
            _ = writeln!(out, "{:>LABELS$} {}", "", panel.times());
            _ = writeln!(out, "{:>LABELS$} {}", "", self.legend(has_colours));
            _ = writeln!(out, "{}", wrapped(&self.captions(panel).join("; "), columns));
        }
        out
    }

    /// The scale from left to right.
    fn legend(&self, has_colours: bool) -> String {
        let shown = |level: f64, label: String| {
            let [r, g, b] = palette::colour(level);
            match (has_colours, shade(level)) {
                (true, _) => format!("\x1b[48;2;{r};{g};{b}m  \x1b[0m {label}"),
                (false, ' ') => format!("blank {label}"),
                (false, sign) => format!("{sign} {label}"),
            }
        };
        let none = shown(0.0, format!("no {}", self.measure.name()));
        // A shade stands for the levels nearest to it, the least shade also for everything less.
        let step = if has_colours { 1.0 / COLOURS } else { 1.5 / (SHADES.len() - 1) as f64 };
        let least = shown(1.0 / COLOURS, least_mark(step, self.is_logarithmic));
        let marks = self.marks().iter().map(|share| shown(self.level(*share), mark(*share)));
        // Shades end where the scale does.
        let more = (has_colours && !self.is_of_table).then(|| shown(f64::INFINITY, "more".to_owned()));
        [none, least].into_iter().chain(marks).chain(more).collect::<Vec<_>>().join("  ")
    }
}

/// The times below a picture of `width` places, each after a mark at its place, if there is room.
fn axis(ticks: &[(f64, String)], width: usize) -> String {
    let (mut out, mut len) = (String::new(), 0);
    for (at, label) in ticks {
        let (place, signs) = ((at * width as f64) as usize, 1 + label.chars().count());
        if place >= len && place + signs <= width {
            _ = write!(out, "{:1$}|{label} ", "", place - len);
            len = place + signs + 1;
        }
    }
    out.trim_end().to_owned()
}

fn shade(level: f64) -> char {
    // Any load shows.
    let least = usize::from(level > 0.0);
    SHADES[((level * (SHADES.len() - 1) as f64).round() as usize).clamp(least, SHADES.len() - 1)]
}

/// Wraps a text into lines of at most `columns` characters.
pub(super) fn wrapped(text: &str, columns: usize) -> String {
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
