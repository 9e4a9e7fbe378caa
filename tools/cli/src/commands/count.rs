//! `count`: how many rows meet conditions on the fields of their keys.

use std::io::Write as _;

use clap::Args;
use futures_util::stream::{StreamExt as _, TryStreamExt as _, iter};
use keyderive::Client;
use keyderive::client::ReadRows;
use keyderive::dynamic::{DynKey, TableLayout};
use keyderive::plan::Plan;
use keyderive::table::DynTable;
use serde::Serialize;

use super::{PARTS_AT_A_TIME, block_on};
use crate::conditions::{self, Conditions};
use crate::exit::{Exit, Failure, Outcome};
use crate::layout::TableArgs;
use crate::output::{self, Meter, Out, TextFormat, json_line, rows_are};
use crate::outside::{count_outside, note_outside, presence};

/// Count rows by conditions on the fields of their keys
///
/// Every row is read, without its values. `--estimate` counts some parts of the table, and says how far off the result may be: more
/// than that once in 20 times, of rows that lie in the parts at random. Rows that lie together may all be in parts that are not counted.
#[derive(Args, Debug)]
pub(crate) struct Count {
    #[command(flatten)]
    of: TableArgs,
    #[arg(long = "where", value_name = "CONDITION", help = conditions::HELP, long_help = conditions::LONG_HELP)]
    conditions: Vec<String>,
    /// Count this many parts of the table, chosen at random, and reckon the rest
    #[arg(long, value_name = "PARTS", num_args = 0..=1, default_missing_value = "32", value_parser = clap::value_parser!(u32).range(2..))]
    estimate: Option<u32>,
    /// How the number is printed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
}

/// How many rows there are.
#[derive(Debug, Serialize)]
struct Counted {
    rows: u64,
    /// How far off an estimate may be: more about once in 20 times, of rows that lie in the parts at random.
    #[serde(skip_serializing_if = "Option::is_none")]
    plus_minus: Option<u64>,
    parts_counted: usize,
    parts: usize,
}

impl Count {
    pub(crate) fn run(self) -> Outcome {
        let mut connection = self.of.connection()?;
        block_on(async {
            let layout = self.of.find_one(&mut connection).await?;
            let client = connection.client().await?;
            match layout {
                Some(layout) => self.typed(&client, &layout).await,
                None => self.bytes(&client).await,
            }
        })
    }

    async fn typed(&self, client: &Client, layout: &TableLayout) -> Outcome {
        let filter = Conditions::of_arguments(layout.key(), &self.conditions)?;
        let table = client.dynamic_table(layout);
        let parts = table.sizes().await?.parts.into_iter().map(|part| filter.plan().within(&part.range));
        let mut parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
        let all = parts.len();
        if let Some(sample) = self.estimate {
            choose(&mut parts, sample as usize);
        }
        let (mut meter, mut all_rows, mut foreign) = (Meter::of_parts("counted", parts.len()), 0, 0);
        let mut counts = Vec::new();
        let mut counting =
            iter(parts).map(|part| count(&table, part, &filter)).buffer_unordered(PARTS_AT_A_TIME);
        while let Some((rows, skipped)) = counting.try_next().await? {
            counts.push(rows);
            foreign += skipped;
            all_rows += rows;
            meter.rows(all_rows);
            meter.part_done();
        }
        meter.finish();
        if foreign > 0 {
            output::note(format_args!(
                "{} not counted, since the key is not of the layout; `keyderive verify {}` shows which",
                rows_are(foreign),
                self.of.table
            ));
        }
        let outside = if filter.is_of_all { count_outside(client, layout).await? } else { 0 };
        note_outside(outside, layout, "counted");
        self.print(&counted(&counts, all))?;
        Ok(Exit::found(foreign + outside > 0))
    }

    /// The rows of a table without a layout.
    async fn bytes(&self, client: &Client) -> Outcome {
        if !self.conditions.is_empty() {
            return Err(Failure::refused(format_args!("`--where` needs a layout: {}", self.of.no_layout())));
        }
        let table = client.raw_table(&self.of.table);
        let mut parts: Vec<_> = table.sizes().await?.parts.into_iter().map(|part| part.range).collect();
        let all = parts.len();
        if let Some(sample) = self.estimate {
            choose(&mut parts, sample as usize);
        }
        let (mut meter, mut all_rows) = (Meter::of_parts("counted", parts.len()), 0);
        let mut counts = Vec::new();
        for part in parts {
            let mut rows = table.read_rows(ReadRows::new().range(part).filter(presence()));
            let mut count = 0;
            while rows.try_next().await?.is_some() {
                count += 1;
                all_rows += 1;
                meter.rows(all_rows);
            }
            counts.push(count);
            meter.part_done();
        }
        meter.finish();
        self.print(&counted(&counts, all))?;
        Ok(Exit::Done)
    }

    fn print(&self, counted: &Counted) -> Outcome<()> {
        let mut out = Out::new();
        let Counted { rows, plus_minus, parts_counted, parts } = counted;
        match (self.format.is_json(), plus_minus) {
            (true, _) => json_line(&mut out, counted)?,
            (false, None) => writeln!(out, "{rows}")?,
            (false, Some(error)) => {
                writeln!(
                    out,
                    "about {rows} ± {error} (95 % confidence): {parts_counted} of {parts} parts were counted"
                )?;
                if *rows == 0 {
                    output::note("rows that lie together may all be in parts that were not counted");
                }
            }
        }
        Ok(out.finish()?)
    }
}

/// Counts the rows of a part, and the rows of other layouts.
async fn count(table: &DynTable, part: Plan<DynKey>, filter: &Conditions) -> Outcome<(u64, u64)> {
    let scan = filter.rows(table, part);
    let skipped = scan.skipped();
    let rows = scan.count().await?;
    Ok((rows, skipped.foreign()))
}

/// Keeps this many items, chosen at random.
fn choose<T>(items: &mut Vec<T>, sample: usize) {
    for at in 0..sample.min(items.len()) {
        let other = fastrand::usize(at..items.len());
        items.swap(at, other);
    }
    items.truncate(sample);
}

/// The number of rows in all parts, from the counts of those that were chosen at random.
fn counted(counts: &[u64], parts: usize) -> Counted {
    let (chosen, sum) = (counts.len(), counts.iter().sum::<u64>());
    if chosen == parts {
        return Counted { rows: sum, plus_minus: None, parts_counted: chosen, parts };
    }
    let (n, all) = (chosen as f64, parts as f64);
    let (mean, left) = (sum as f64 / n, all - n);
    let squares: f64 = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum();
    // The variance of the mean of a sample without repetition.
    let variance = squares / (n - 1.0) / n * (1.0 - n / all);
    let by_spread = student(chosen - 1) * variance.sqrt() * all;
    // Counts that are equal by chance have no spread. Rows that lie in the parts at random have a Poisson distribution, whose variance
    // is its mean; the rule of three bounds how many rows were not met.
    let by_chance = 2.0 * (mean * left * all / n).sqrt() + 3.0 * left / n;
    let plus_minus = by_spread.max(by_chance).ceil() as u64;
    Counted { rows: (mean * all).round() as u64, plus_minus: Some(plus_minus), parts_counted: chosen, parts }
}

/// How many standard errors a mean is off by in 19 of 20 times: the quantile of Student's distribution, to two digits.
fn student(degrees: usize) -> f64 {
    match degrees {
        0 | 1 => 12.71,
        2 => 4.3,
        more => 1.96 + 2.37 / more as f64 + 2.82 / (more * more) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_within_its_error_as_often_as_it_says() {
        let mut random = fastrand::Rng::with_seed(7);
        let parts: Vec<u64> = (0..200).map(|_| random.u64(0..1000)).collect();
        let rows = parts.iter().sum::<u64>();
        let within = (0..1000).filter(|_| {
            let mut chosen = parts.clone();
            choose(&mut chosen, 32);
            let counted = counted(&chosen, parts.len());
            counted.rows.abs_diff(rows) <= counted.plus_minus.unwrap()
        });
        let within = within.count();
        assert!((920..=985).contains(&within), "{within}");
        assert_eq!(counted(&[3, 4], 2).rows, 7);
        assert_eq!(
            [1, 2, 4, 9, 31].map(|degrees| (student(degrees) * 10.0).round()),
            [127.0, 43.0, 27.0, 23.0, 20.0]
        );
    }

    #[test]
    fn an_estimate_of_few_parts_and_rows_is_within_its_error_too() {
        let mut random = fastrand::Rng::with_seed(11);
        for (rows, sample) in [(0, 2), (1, 2), (5, 2), (20, 2), (20, 8), (300, 2), (300, 4), (300, 15)] {
            let within = (0..1000).filter(|_| {
                let mut parts = vec![0; 16];
                (0..rows).for_each(|_| parts[random.usize(..16)] += 1);
                choose(&mut parts, sample);
                let counted = counted(&parts, 16);
                counted.rows.abs_diff(rows) <= counted.plus_minus.unwrap()
            });
            let within = within.count();
            assert!(within >= 940, "{within} of 1000: {rows} rows, {sample} parts");
        }
        // None was found in 2 of 16 parts.
        assert_eq!(counted(&[0, 0], 16).plus_minus, Some(21));
        assert_eq!(counted(&[3, 4], 2).plus_minus, None);
    }
}
