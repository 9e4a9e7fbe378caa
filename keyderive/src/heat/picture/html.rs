//! A picture as one HTML file that loads nothing.

use serde_json::json;

use super::{COLOURS, END, LABEL_SIGNS, Panel, Picture, UPWARDS, least_mark, palette, shown_time};
use crate::heat::grid::Measure;

/// How many columns and ranges of a grid the page has at most: a megabyte or two.
const MOST: usize = 320;
const PAGE: &str = include_str!("page.html");

impl Picture<'_> {
    /// The picture as one HTML file, which needs no network: keys, rates and shares under the pointer, parts that are enlarged, a switch
    /// between writes, reads and bytes, and between the two scales. All of it can be done by keyboard.
    #[must_use]
    pub fn html(&self) -> String {
        let panels: Vec<_> = self
            .panels
            .iter()
            .map(|panel| {
                let grid = &panel.grid.folded(MOST, MOST);
                let panel = &Panel { name: panel.name.clone(), grid, layout: panel.layout };
                let measures = Measure::ALL.map(|measure| {
                    // Ranges that are known only together: the first has their load, the others the distance back to it.
                    let cells = |column: usize| {
                        grid.groups(column).flat_map(move |(rows, cell)| {
                            let load = cell.load(measure);
                            let first = match load.sum {
                                0 => json!(0),
                                _ => json!([load.sum, load.peak, load.error]),
                            };
                            let others = (1..rows.len()).map(|back| json!(-(back as i64)));
                            std::iter::once(first).chain(others)
                        })
                    };
                    let columns = if grid.total(measure) > 0 { grid.columns() } else { 0 };
                    json!({
                        "whole": self.whole(grid, measure),
                        "note": self.notes(panel, measure).join("; "),
                        "cells": (0..columns).map(|column| cells(column).collect()).collect::<Vec<Vec<_>>>(),
                    })
                });
                json!({
                    "name": panel.name,
                    "keys": (0..grid.rows()).map(|row| panel.label(row)).collect::<Vec<_>>(),
                    "labels": (0..grid.rows()).map(|row| panel.short_label(row, LABEL_SIGNS, ", ")).collect::<Vec<_>>(),
                    "times": (0..=grid.columns()).map(|column| shown_time(grid.time(column))).collect::<Vec<_>>(),
                    "slot": grid.slot().as_secs_f64(),
                    "measures": measures,
                })
            })
            .collect();
        let data = json!({
            "panels": panels,
            "measures": Measure::ALL.map(Measure::name),
            "measure": Measure::ALL.iter().position(|measure| *measure == self.measure),
            "logarithmic": self.is_logarithmic,
            "least": super::LEAST,
            "of": self.scale(),
            "captions": Measure::ALL.map(|measure| self.panels.first().map(|panel| self.caption(panel, measure))),
            "hasMore": !self.is_of_table,
            "scale": self.model.scale,
            "slot": self.slots(),
            "colours": (1..=COLOURS as u8).map(|at| palette::colour(f64::from(at) / COLOURS)).collect::<Vec<_>>(),
            "leastMarks": [least_mark(1.0 / COLOURS, false), least_mark(1.0 / COLOURS, true)],
            "end": END,
            "upwards": UPWARDS,
            "nothing": palette::NOTHING,
            "over": palette::OVER,
        });
        // No key of a table ends the element that holds the data.
        let data = data.to_string().replace('<', "\\u003c");
        PAGE.replacen("{data}", &data, 1)
    }
}
