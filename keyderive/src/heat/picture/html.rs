//! A picture as one HTML file that loads nothing.

use serde_json::json;

use super::{Panel, Picture, palette, shown_time};
use crate::heat::grid::Measure;
use crate::heat::report::percent;

/// How many columns and ranges of a grid the page has at most: a megabyte or two.
const MOST: usize = 320;
const PAGE: &str = include_str!("page.html");

impl Picture<'_> {
    /// The picture as one HTML file, which needs no network: keys, rates and shares under the pointer, a part enlarged by dragging, a switch
    /// between writes, reads and bytes, and between the two scales.
    #[must_use]
    pub fn html(&self) -> String {
        let panels: Vec<_> = self
            .panels
            .iter()
            .map(|panel| {
                let grid = &panel.grid.folded(MOST, MOST);
                let panel = &Panel { name: panel.name.clone(), grid, layout: panel.layout };
                let measures = Measure::ALL.map(|measure| {
                    let columns: Vec<Vec<(u64, u64)>> = (0..if grid.total(measure) > 0 { grid.columns() } else { 0 })
                        .map(|column| grid.loads(column, measure).iter().map(|load| (load.peak, load.sum)).collect())
                        .collect();
                    let whole = self.whole(grid, measure);
                    json!({
                        "whole": whole,
                        "error": percent(grid.error(measure) as f64 / whole).to_string(),
                        "cells": columns,
                    })
                });
                json!({
                    "name": panel.name,
                    "keys": (0..grid.rows()).map(|row| panel.label(row)).collect::<Vec<_>>(),
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
            "of": if self.is_of_table { "the table's busiest slot" } else { "a node's capacity" },
            "colours": (0..=64).map(|at| palette::colour((f64::from(at) / 64.0).max(1e-9))).collect::<Vec<_>>(),
            "nothing": palette::NOTHING,
            "over": palette::OVER,
        });
        // No key of a table ends the element that holds the data.
        let data = data.to_string().replace('<', "\\u003c");
        PAGE.replacen("{data}", &data, 1)
    }
}
