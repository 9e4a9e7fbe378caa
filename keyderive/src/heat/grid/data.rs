//! A grid as data, checked when it is read.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Blur, Cell, Grid, Limits, Row};
use crate::key::codec::read_hex;
use crate::key::{Hex, MAX_KEY_LEN};

/// The version of the names below and of what they mean.
const VERSION: u32 = 1;

/// The index of a column, then for writes, reads and bytes: sums, least peaks, and by how much they may be greater.
type CellForm = (usize, [u64; 3], [u64; 3], [u64; 3]);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GridForm {
    version: u32,
    slot_ms: i64,
    width_ms: i64,
    first_column: i64,
    columns: usize,
    most_columns: usize,
    most_rows: usize,
    whole: Vec<CellForm>,
    rows: Vec<RowForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowForm {
    /// In hexadecimal.
    start: String,
    /// The time in which it was counted with the row before, in milliseconds since 1970.
    with_row_before: Option<(i64, i64)>,
    cells: Vec<CellForm>,
}

fn cell_forms(cells: &[Cell]) -> Vec<CellForm> {
    let cells = cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty());
    cells.map(|(at, cell)| (at, cell.sums, cell.peaks, cell.slacks)).collect()
}

impl Serialize for Grid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = self.rows.iter().map(|row| RowForm {
            start: Hex(&row.start).to_string(),
            with_row_before: row.blur.map(|blur| (blur.from, blur.until)),
            cells: cell_forms(&row.cells),
        });
        let form = GridForm {
            version: VERSION,
            slot_ms: self.slot,
            width_ms: self.width,
            first_column: self.first,
            columns: self.all.len(),
            most_columns: self.limits.columns,
            most_rows: self.limits.rows,
            whole: cell_forms(&self.all),
            rows: rows.collect(),
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Grid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        GridForm::deserialize(deserializer)?
            .grid()
            .map_err(|fault| de::Error::custom(format!("not a grid of heat: {fault}")))
    }
}

impl GridForm {
    fn grid(self) -> Result<Grid, String> {
        if self.version != VERSION {
            return Err(format!("`version` is {}, and this release reads {VERSION}", self.version));
        }
        let limit = |name: &str, limit: usize| match (Limits::LEAST..=Limits::MOST).contains(&limit) {
            true => Ok(limit),
            false => Err(format!("`{name}` is {limit}, and may be {} to {}", Limits::LEAST, Limits::MOST)),
        };
        let limits = Limits {
            columns: limit("most_columns", self.most_columns)?,
            rows: limit("most_rows", self.most_rows)?,
        };
        let factor = self.width_ms.checked_div(self.slot_ms).unwrap_or(0);
        let is_whole =
            self.slot_ms > 0 && factor > 0 && self.slot_ms.checked_mul(factor) == Some(self.width_ms);
        if !is_whole || factor.count_ones() != 1 {
            return Err(format!(
                "`width_ms` is {}, and must be `slot_ms`, {}, times a power of two",
                self.width_ms, self.slot_ms
            ));
        }
        if self.columns > limits.columns || self.rows.len() > limits.rows {
            return Err(format!(
                "it has {} columns and {} rows, more than it may have",
                self.columns,
                self.rows.len()
            ));
        }
        let last = i128::from(self.first_column) + self.columns as i128;
        let is_time = |column: i128| i64::try_from(column * i128::from(self.width_ms)).is_ok();
        // The last column may end after the last time that there is, and the first begin before the first.
        if !is_time(i128::from(self.first_column) + 1) || !is_time(last - 1) {
            return Err(format!("`first_column` is {}, which is no time", self.first_column));
        }
        let cells = |name: &str, forms: Vec<CellForm>| {
            cells(forms, self.columns, factor.unsigned_abs()).map_err(|fault| format!("`{name}`: {fault}"))
        };
        let mut rows: Vec<Row> = Vec::with_capacity(self.rows.len());
        for (at, form) in self.rows.into_iter().enumerate() {
            let start = read_hex(form.start.as_bytes()).ok().filter(|start| start.len() <= MAX_KEY_LEN + 1);
            let start = start
                .ok_or_else(|| format!("`rows[{at}].start` is not hexadecimal, or longer than a key"))?;
            let follows = rows.last().map_or(start.is_empty(), |before| before.start < start);
            if !follows {
                return Err(format!("`rows[{at}].start`: rows ascend, and the first begins with nothing"));
            }
            let blur = form.with_row_before.map(|(from, until)| Blur { from, until });
            rows.push(Row { start, blur, cells: cells(&format!("rows[{at}].cells"), form.cells)? });
        }
        if rows.is_empty() {
            return Err("it has no rows".to_owned());
        }
        let mut all = cells("whole", self.whole)?;
        all.resize(self.columns, Cell::default());
        Ok(Grid { slot: self.slot_ms, width: self.width_ms, first: self.first_column, limits, all, rows })
    }
}

fn cells(forms: Vec<CellForm>, columns: usize, slots: u64) -> Result<Vec<Cell>, String> {
    let mut cells = Vec::new();
    for (at, sums, peaks, slacks) in forms {
        if at >= columns || at < cells.len() {
            return Err(format!("column {at} of {columns} is in the wrong place"));
        }
        for one in 0..3 {
            let most = peaks[one].checked_add(slacks[one]);
            if most.is_none_or(|most| most > sums[one])
                || u128::from(peaks[one]) * u128::from(slots) < u128::from(sums[one]) && slacks[one] == 0
            {
                return Err(format!("the peak of column {at} does not fit its sum"));
            }
        }
        cells.resize(at, Cell::default());
        cells.push(Cell { sums, peaks, slacks });
    }
    Ok(cells)
}
