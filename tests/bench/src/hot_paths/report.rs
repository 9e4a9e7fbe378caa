//! Tables in Markdown, with what is required beside what is.

use std::fmt::{self, Write as _};

use super::turns::Cost;

/// A table of paths.
pub(super) struct Table {
    pub(super) title: String,
    /// What is compared, in sentences.
    pub(super) about: String,
    /// What the costs are of, as in "CPU a row".
    pub(super) unit: &'static str,
    /// How many of them a path's cost is for.
    pub(super) units: u64,
    pub(super) lines: Vec<Line>,
}

pub(super) struct Line {
    pub(super) path: String,
    pub(super) cost: Cost,
    /// The most memory that the path's process had, in MiB, where that is measured.
    pub(super) memory: Option<f64>,
    pub(super) bounds: Vec<Bound>,
}

/// A requirement, by the place of the line that it is relative to.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    /// At least so many times less time than that line.
    Less(f64, usize),
    /// At most so many times the time of that line.
    Of(f64, usize),
    /// At most so many allocations a unit.
    Allocations(f64),
    /// At most so many MiB.
    Memory(f64),
}

impl Table {
    fn nanos(&self, cost: Cost) -> f64 {
        cost.time.as_secs_f64() * 1e9 / self.units as f64
    }

    fn allocations(&self, cost: Cost) -> f64 {
        cost.allocations as f64 / self.units as f64
    }

    /// The measured value, whether it is good enough, and what is asked for.
    fn judge(&self, line: &Line, bound: Bound) -> (String, bool, String) {
        let nanos = self.nanos(line.cost);
        let (value, is_met, unit, asked) = match bound {
            Bound::Less(least, than) => {
                let value = self.nanos(self.lines[than].cost) / nanos;
                (value, value >= least, " x less", format!("≥ {least} x less than {}", self.lines[than].path))
            }
            Bound::Of(most, of) => {
                let value = nanos / self.nanos(self.lines[of].cost);
                (value, value <= most, " x", format!("≤ {most} x {}", self.lines[of].path))
            }
            Bound::Allocations(most) => {
                let value = self.allocations(line.cost);
                (value, value <= most, " allocations", format!("≤ {most} allocations"))
            }
            Bound::Memory(most) => {
                let value = line.memory.unwrap_or(f64::NAN);
                (value, value <= most, " MiB", format!("≤ {most} MiB"))
            }
        };
        (format!("{value:.2}{unit}"), is_met, asked)
    }

    fn write_line(&self, line: &Line, has_memory: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut measured, mut required) = (String::new(), String::new());
        for (at, bound) in line.bounds.iter().enumerate() {
            let (value, is_met, asked) = self.judge(line, *bound);
            let comma = if at == 0 { "" } else { ", " };
            match is_met {
                true => write!(measured, "{comma}{value}")?,
                false => write!(measured, "{comma}**{value}: missed**")?,
            }
            write!(required, "{comma}{asked}")?;
        }
        let (nanos, allocations) = (self.nanos(line.cost), self.allocations(line.cost));
        write!(f, "| {} | {nanos:.1} ns | {allocations:.3} | ", line.path)?;
        if has_memory {
            write!(f, "{} | ", line.memory.map_or(String::new(), |memory| format!("{memory:.1} MiB")))?;
        }
        writeln!(f, "{measured} | {required} |")
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_memory = self.lines.iter().any(|line| line.memory.is_some());
        let (memory, rule) = if has_memory { (" memory of its process |", "---|") } else { ("", "") };
        writeln!(f, "### {}\n\n{}\n", self.title, self.about)?;
        writeln!(f, "| path | CPU a {0} | allocations a {0} |{memory} measured | required |", self.unit)?;
        writeln!(f, "|---|---|---|{rule}---|---|")?;
        self.lines.iter().try_for_each(|line| self.write_line(line, has_memory, f))
    }
}
