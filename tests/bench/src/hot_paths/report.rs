//! Markdown tables of the costs, with targets.

use std::fmt;

use super::turns::{Cost, Path};

/// A table of paths.
pub(super) struct Table {
    pub(super) title: String,
    /// What the table compares, in sentences.
    pub(super) about: String,
    /// The unit of a cost, as in "CPU per row".
    pub(super) unit: &'static str,
    /// How many units a path's cost covers.
    pub(super) units: u64,
    pub(super) lines: Vec<Line>,
}

/// A path and its cost.
pub(super) struct Line {
    pub(super) path: String,
    pub(super) cost: Cost,
    pub(super) memory: Option<Memory>,
    pub(super) beside: Comparison,
}

impl Line {
    /// The lines of these paths, without memory.
    pub(super) fn of(paths: &[Path<'_>], costs: Vec<Cost>) -> Vec<Self> {
        let line = |(path, cost): (&Path<'_>, Cost)| Self::new(path.name, cost, path.beside);
        paths.iter().zip(costs).map(line).collect()
    }

    pub(super) fn new(path: &str, cost: Cost, beside: Comparison) -> Self {
        Self { path: path.to_owned(), cost, memory: None, beside }
    }
}

/// The memory of a path.
#[derive(Clone, Copy, Debug)]
pub(super) enum Memory {
    /// The peak of its process, in MiB.
    Process(f64),
    /// What an operation in flight holds, in KB.
    InFlight(f64),
}

impl Memory {
    fn value(self) -> f64 {
        match self {
            Self::Process(memory) | Self::InFlight(memory) => memory,
        }
    }
}

/// What a path is compared with, and its targets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Comparison {
    /// The line of the peer, and the least factor by which the path must be faster.
    peer: Option<(usize, Option<f64>)>,
    /// The line of the floor, and the most time, as a multiple of the floor's.
    floor: Option<(usize, Option<f64>)>,
    /// The most allocations per unit.
    allocations: Option<f64>,
    /// The most memory, in the unit of the measure.
    memory: Option<f64>,
}

impl Comparison {
    pub(super) fn peer(self, line: usize, less: impl Into<Option<f64>>) -> Self {
        Self { peer: Some((line, less.into())), ..self }
    }

    pub(super) fn floor(self, line: usize, most: impl Into<Option<f64>>) -> Self {
        Self { floor: Some((line, most.into())), ..self }
    }

    pub(super) fn allocations(self, most: f64) -> Self {
        Self { allocations: Some(most), ..self }
    }

    pub(super) fn memory(self, most: f64) -> Self {
        Self { memory: Some(most), ..self }
    }
}

impl Table {
    fn allocations(&self, line: &Line) -> f64 {
        line.cost.allocations.count as f64 / self.units as f64
    }

    fn write_line(&self, line: &Line, has_memory: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let beside = line.beside;
        let time = line.cost.time.as_secs_f64();
        let time_of = |line: usize| self.lines[line].cost.time.as_secs_f64();
        let peer = beside.peer.map(|(peer, _)| time_of(peer) / time);
        let floor = beside.floor.map(|(floor, _)| time / time_of(floor));
        let allocations = self.allocations(line);
        let memory = line.memory.map(Memory::value);
        let unit = match line.memory {
            Some(Memory::Process(_)) => " MiB",
            Some(Memory::InFlight(_)) => " KB",
            None => "",
        };
        let at_most = |bound: Option<f64>, value: Option<f64>, unit| {
            Some((bound?, '≤', value.is_some_and(|value| value <= bound.unwrap_or(f64::NAN)), unit))
        };
        let less = beside.peer.and_then(|(_, less)| less);
        let targets = [
            less.map(|less| (less, '≥', peer.is_some_and(|peer| peer >= less), " x less")),
            at_most(beside.floor.and_then(|(_, most)| most), floor, " x the floor"),
            at_most(beside.allocations, Some(allocations), " allocations"),
            at_most(beside.memory, memory, unit),
        ];
        let targets = targets.into_iter().flatten().map(|(bound, sign, is_met, unit)| {
            let target = format!("{sign} {bound}{unit}");
            if is_met { target } else { format!("**{target}: missed**") }
        });
        let targets = targets.collect::<Vec<_>>().join(", ");

        let nanos = time * 1e9 / self.units as f64;
        write!(f, "| {} | {nanos:.1} ns | {allocations:.2} | ", line.path)?;
        if has_memory {
            write!(f, "{} | ", shown(memory, 1, unit))?;
        }
        writeln!(f, "{} | {} | {targets} |", shown(peer, 1, " x less"), shown(floor, 2, " x"))
    }
}

fn shown(value: Option<f64>, digits: usize, unit: &str) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}{unit}"))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, about, unit, lines, .. } = self;
        let has_memory = lines.iter().any(|line| line.memory.is_some());
        let (memory, rule) = if has_memory { (" memory |", "---|") } else { ("", "") };
        writeln!(f, "## {title}\n\n{about}\n")?;
        writeln!(
            f,
            "| path | CPU per {unit} | allocations per {unit} |{memory} vs peer | vs floor | target |"
        )?;
        writeln!(f, "|---|---|---|{rule}---|---|---|")?;
        lines.iter().try_for_each(|line| self.write_line(line, has_memory, f))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::allocations::Allocations;

    #[test]
    fn what_is_missed_is_marked() {
        let line = |path: &str, micros, beside| {
            let allocations = Allocations { count: 1000, peak: 0 };
            Line::new(path, Cost { time: Duration::from_micros(micros), allocations }, beside)
        };
        let none = Comparison::default();
        let beside = none.peer(0, 4.0).floor(1, 2.0).allocations(1.0);
        let table = Table {
            title: "Scans".to_owned(),
            about: "All read the same.".to_owned(),
            unit: "row",
            units: 1000,
            lines: vec![
                line("peer", 800, none),
                line("floor", 100, none),
                line("good", 200, beside),
                line("bad", 250, beside),
            ],
        };
        let lines: Vec<_> = table.to_string().lines().map(str::to_owned).skip(4).collect();
        assert_eq!(
            lines,
            [
                "| path | CPU per row | allocations per row | vs peer | vs floor | target |",
                "|---|---|---|---|---|---|",
                "| peer | 800.0 ns | 1.00 |  |  |  |",
                "| floor | 100.0 ns | 1.00 |  |  |  |",
                "| good | 200.0 ns | 1.00 | 4.0 x less | 2.00 x | ≥ 4 x less, ≤ 2 x the floor, ≤ 1 allocations |",
                "| bad | 250.0 ns | 1.00 | 3.2 x less | 2.50 x | **≥ 4 x less: missed**, **≤ 2 x the floor: missed**, ≤ 1 allocations |",
            ]
        );
    }
}
