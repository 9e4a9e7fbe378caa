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
    pub(super) fn of<'a>(
        paths: &'a [Path<'_>],
        costs: Vec<Cost>,
        beside: impl IntoIterator<Item = Comparison> + 'a,
    ) -> Vec<Self> {
        let line = |((path, cost), beside): ((&Path<'_>, Cost), Comparison)| Self {
            path: path.name.to_owned(),
            cost,
            memory: None,
            beside,
        };
        paths.iter().zip(costs).zip(beside).map(line).collect()
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

    fn unit(self) -> &'static str {
        match self {
            Self::Process(_) => " MiB",
            Self::InFlight(_) => " KB",
        }
    }
}

/// The lines that a path is compared with, by index, and its targets.
#[derive(Clone, Copy, Default)]
pub(super) struct Comparison {
    pub(super) peer: Option<usize>,
    pub(super) floor: Option<usize>,
    pub(super) targets: Targets,
}

/// The targets of a path.
#[derive(Clone, Copy, Default)]
pub(super) struct Targets {
    /// The least factor by which the path must be faster than the peer.
    pub(super) less_than_peer: Option<f64>,
    /// The most time, as a multiple of the floor's.
    pub(super) of_floor: Option<f64>,
    /// The most allocations per unit.
    pub(super) allocations: Option<f64>,
    /// The most memory, in the unit of the measure.
    pub(super) memory: Option<f64>,
}

impl Table {
    fn allocations(&self, line: &Line) -> f64 {
        line.cost.allocations.count as f64 / self.units as f64
    }

    fn write_line(&self, line: &Line, has_memory: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Comparison { peer, floor, targets } = line.beside;
        let time = line.cost.time.as_secs_f64();
        let time_of = |line: usize| self.lines[line].cost.time.as_secs_f64();
        let peer = peer.map(|peer| time_of(peer) / time);
        let floor = floor.map(|floor| time / time_of(floor));
        let allocations = self.allocations(line);
        let measured = [
            (targets.less_than_peer, peer, Relation::AtLeast, " x less"),
            (targets.of_floor, floor, Relation::AtMost, " x the floor"),
            (targets.allocations, Some(allocations), Relation::AtMost, " allocations"),
            (
                targets.memory,
                line.memory.map(Memory::value),
                Relation::AtMost,
                line.memory.map_or("", Memory::unit),
            ),
        ];
        let targets = measured.into_iter().filter_map(|(bound, value, relation, unit)| {
            let (bound, value) = (bound?, value.unwrap_or(f64::NAN));
            let (sign, is_met) = match relation {
                Relation::AtLeast => ('≥', value >= bound),
                Relation::AtMost => ('≤', value <= bound),
            };
            let target = format!("{sign} {bound}{unit}");
            Some(if is_met { target } else { format!("**{target}: missed**") })
        });
        let targets = targets.collect::<Vec<_>>().join(", ");

        let nanos = time * 1e9 / self.units as f64;
        write!(f, "| {} | {nanos:.1} ns | {allocations:.2} | ", line.path)?;
        if has_memory {
            write!(
                f,
                "{} | ",
                shown(line.memory.map(Memory::value), 1, line.memory.map_or("", Memory::unit))
            )?;
        }
        writeln!(f, "{} | {} | {targets} |", shown(peer, 1, " x less"), shown(floor, 2, " x"))
    }
}

enum Relation {
    AtLeast,
    AtMost,
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
        let line = |path: &str, micros, beside| Line {
            path: path.to_owned(),
            cost: Cost {
                time: Duration::from_micros(micros),
                allocations: Allocations { count: 1000, peak: 0 },
            },
            memory: None,
            beside,
        };
        let targets = |less, of| Targets {
            less_than_peer: Some(less),
            of_floor: Some(of),
            allocations: Some(1.0),
            memory: None,
        };
        let beside = |targets| Comparison { peer: Some(0), floor: Some(1), targets };
        let table = Table {
            title: "Scans".to_owned(),
            about: "All read the same.".to_owned(),
            unit: "row",
            units: 1000,
            lines: vec![
                line("peer", 800, Comparison::default()),
                line("floor", 100, Comparison::default()),
                line("good", 200, beside(targets(4.0, 2.0))),
                line("bad", 250, beside(targets(4.0, 2.0))),
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
