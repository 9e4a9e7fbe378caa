//! A case: a table's rows, a plan and a way to run it.

use std::fmt;

use fastrand::Rng;

use super::foreign;
use crate::keys::Sample;

/// The input of one comparison with the model.
#[derive(Clone, Debug)]
pub(crate) struct Case<K: Sample> {
    pub(crate) content: Content<K>,
    pub(crate) constraints: K::Constraints,
    pub(crate) execution: Execution,
}

/// The rows of a table: its own, whose value is their index here, and foreign ones.
#[derive(Clone, Debug)]
pub(crate) struct Content<K> {
    pub(crate) rows: Vec<(K, u32)>,
    pub(crate) foreign: Vec<Vec<u8>>,
}

/// How a plan is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Execution {
    pub(crate) read: Read,
    pub(crate) reversed: bool,
    pub(crate) unordered: bool,
    pub(crate) keys_only: bool,
    /// The rows that `filter_key` keeps, as one bit per value.
    pub(crate) keep: Option<u64>,
    pub(crate) skip_foreign: bool,
    /// Whether the plan goes through JSON.
    pub(crate) sent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    All,
    Limit(u64),
    Pages(u64),
    /// Split at the stored key of the row with this index.
    Parts(usize),
    Count,
    Delete,
}

impl Execution {
    pub(crate) const PLAIN: Self = Self {
        read: Read::All,
        reversed: false,
        unordered: false,
        keys_only: false,
        keep: None,
        skip_foreign: true,
        sent: false,
    };

    pub(crate) fn random(rng: &mut Rng, rows: usize) -> Self {
        let read = match rng.u8(..20) {
            0..5 => Read::All,
            5..10 => Read::Limit(rng.u64(..=rows as u64 + 1)),
            10..15 => Read::Pages(rng.u64(1..=5)),
            15..17 => Read::Parts(rng.usize(..=rows)),
            17..19 => Read::Count,
            _ => Read::Delete,
        };
        Self {
            read,
            reversed: rng.bool(),
            unordered: rng.u8(..5) == 0,
            keys_only: rng.u8(..3) == 0,
            keep: (rng.u8(..4) == 0).then(|| rng.u64(..)),
            skip_foreign: rng.u8(..3) > 0,
            sent: rng.u8(..4) == 0,
        }
    }

    /// Simpler executions, for shrinking.
    pub(crate) fn simpler(self) -> Vec<Self> {
        let plain = [
            Self { reversed: false, ..self },
            Self { unordered: false, ..self },
            Self { keys_only: false, ..self },
            Self { keep: None, ..self },
            Self { sent: false, ..self },
            Self { skip_foreign: true, ..self },
            Self { read: Read::All, ..self },
        ];
        plain.into_iter().filter(|simpler| *simpler != self).collect()
    }
}

impl<K: Sample> Content<K> {
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let mut keys: Vec<K> = Vec::new();
        for _ in 0..if rng.u8(..16) == 0 { 0 } else { rng.usize(1..30) } {
            let key = match keys.len() {
                len if len > 0 && rng.u8(..4) > 0 => keys[rng.usize(..len)].beside(rng),
                _ => K::random(rng),
            };
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let foreign = if rng.bool() { foreign::random(rng, &keys) } else { Vec::new() };
        Self { rows: keys.into_iter().zip(0..).collect(), foreign }
    }
}

impl<K: Sample> Case<K> {
    pub(crate) fn random(rng: &mut Rng, content: &Content<K>) -> Self {
        let keys: Vec<_> = content.rows.iter().map(|(key, _)| key.clone()).collect();
        let constraints = K::constraints(rng, &keys);
        let execution = Execution::random(rng, keys.len());
        Self { content: content.clone(), constraints, execution }
    }

    /// Cases with fewer rows, or a simpler execution, for shrinking.
    pub(crate) fn simpler(&self) -> Vec<Self> {
        let content = |rows, foreign| Self { content: Content { rows, foreign }, ..self.clone() };
        let Content { rows, foreign } = &self.content;
        let mut all = Vec::new();
        for half in [&rows[..rows.len() / 2], &rows[rows.len() / 2..]] {
            if half.len() < rows.len() {
                all.push(content(half.to_vec(), foreign.clone()));
            }
        }
        for at in 0..foreign.len() {
            let mut foreign = foreign.clone();
            foreign.remove(at);
            all.push(content(rows.clone(), foreign));
        }
        for at in 0..rows.len() {
            let mut rows = rows.clone();
            rows.remove(at);
            all.push(content(rows, foreign.clone()));
        }
        let executions = self.execution.simpler();
        all.extend(executions.into_iter().map(|execution| Self { execution, ..self.clone() }));
        all
    }
}

/// Prints the input of a regression test.
impl<K: Sample> fmt::Display for Case<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "constraints: {:?}", self.constraints)?;
        writeln!(f, "execution: {:?}", self.execution)?;
        match K::plan(&self.constraints) {
            Ok(plan) => writeln!(f, "{}", plan.explain())?,
            Err(error) => writeln!(f, "no plan: {error}")?,
        }
        for (key, value) in &self.content.rows {
            writeln!(f, "row {value}: {key:?}, stored as b\"{}\"", key.encode().unwrap().escape_ascii())?;
        }
        for key in &self.content.foreign {
            writeln!(f, "foreign row: b\"{}\"", key.escape_ascii())?;
        }
        Ok(())
    }
}
