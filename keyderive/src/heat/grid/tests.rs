use std::collections::BTreeMap;

use super::*;

/// Every operation: time, key, access, bytes.
type Operation = (i64, Vec<u8>, Access, u64);

/// Compares every cell with what is counted one by one.
fn compare(grid: &Grid, operations: &[Operation]) {
    let (slot, width) = (grid.slot, grid.width);
    for measure in Measure::ALL {
        let amount = |(_, _, access, bytes): &Operation| match (measure, access) {
            (Measure::Writes, Access::Write) | (Measure::Reads, Access::Read) => 1,
            (Measure::Bytes, _) => *bytes,
            _ => 0,
        };
        let mut by_column: BTreeMap<i64, Vec<&Operation>> = BTreeMap::new();
        for operation in operations {
            by_column.entry(operation.0.div_euclid(width) - grid.first).or_default().push(operation);
        }
        assert_eq!(grid.total(measure), operations.iter().map(amount).sum::<u64>());
        for column in 0..grid.columns() {
            let none = Vec::new();
            let groups: Vec<_> = grid.groups(column).collect();
            let mut counted: BTreeMap<usize, BTreeMap<i64, u64>> = BTreeMap::new();
            for operation in by_column.get(&(column as i64)).unwrap_or(&none) {
                let row = grid.rows.partition_point(|row| row.start <= operation.1) - 1;
                let group = groups.partition_point(|(rows, _)| rows.start <= row) - 1;
                *counted.entry(group).or_default().entry(operation.0.div_euclid(slot)).or_default() +=
                    amount(operation);
            }
            let mut sum_of_groups = 0;
            for (at, (rows, cell)) in groups.iter().enumerate() {
                let slots = counted.remove(&at).unwrap_or_default();
                let load = cell.load(measure);
                let place =
                    || format!("{} and {} more in column {column}", grid.range(rows.start), rows.len() - 1);
                assert_eq!(load.sum, slots.values().sum::<u64>(), "{}", place());
                let peak = slots.values().max().copied().unwrap_or(0);
                assert!(
                    (load.peak - load.error..=load.peak).contains(&peak),
                    "{load:?}: {peak} in {}",
                    place()
                );
                sum_of_groups += load.sum;
            }
            assert_eq!(sum_of_groups, grid.whole(column, measure).sum);
        }
        assert!(grid.rows.windows(2).all(|pair| pair[0].start < pair[1].start));
    }
}

/// Workloads of every shape, of so many operations.
fn workloads(count: usize) -> Vec<(&'static str, Vec<Operation>)> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut make = |key: &dyn Fn(usize, i64, &mut fastrand::Rng) -> String,
                    time: &dyn Fn(usize, &mut fastrand::Rng) -> i64| {
        (0..count)
            .map(|at| {
                let time = time(at, &mut random);
                let key = key(at, time, &mut random).into_bytes();
                let access = if random.u8(..4) == 0 { Access::Read } else { Access::Write };
                (time, key, access, random.u64(1..300))
            })
            .collect::<Vec<_>>()
    };
    let growing = |at: usize, random: &mut fastrand::Rng| at as i64 * 7 + random.i64(0..5000);
    let ordered = |at: usize, _: &mut fastrand::Rng| at as i64 * 7 - 1_000_000;
    let zipf = |random: &mut fastrand::Rng| (1.0 / random.f64()) as u64 % 100_000;
    vec![
        (
            "date first",
            make(&|_, time, random| format!("{:013}#{:05}", time + 2_000_000, random.u32(..1000)), &ordered),
        ),
        (
            "reversed",
            make(
                &|_, time, random| format!("{:013}#{:05}", 9_000_000_000_000 - time, random.u32(..1000)),
                &growing,
            ),
        ),
        ("users", make(&|_, time, random| format!("user{:06}#{time:013}", zipf(random)), &growing)),
        ("uniform", make(&|_, _, random| format!("{:08x}", random.u32(..)), &ordered)),
        (
            "moving",
            make(&|at, _, random| format!("user{:06}", at / 50 % 1000 + random.usize(..20)), &ordered),
        ),
        ("one key", make(&|_, _, _| "one".to_owned(), &growing)),
        (
            "any time",
            make(&|_, _, random| format!("{:06}", zipf(random)), &|_, random| {
                random.i64(-5_000_000..5_000_000)
            }),
        ),
    ]
}

fn build(builder: GridBuilder, operations: &[Operation]) -> GridBuilder {
    operations.iter().fold(builder, |mut builder, (time, key, access, bytes)| {
        builder.record(*time, key, *access, *bytes);
        builder
    })
}

#[test]
fn every_cell_is_as_counted_within_its_error() {
    for (name, operations) in workloads(25_000) {
        for (columns, rows) in [(16, 16), (64, 40), (512, 512)] {
            println!("{name}, {columns} × {rows}");
            let grid = build(GridBuilder::new().limits(columns, rows), &operations).grid();
            assert!(
                grid.columns() <= columns && grid.rows() <= rows && grid.columns() * 2 >= columns.min(150)
            );
            compare(&grid, &operations);
        }
    }
}

#[test]
fn a_million_operations_are_as_counted_and_take_bounded_memory() {
    let count = keyderive_tests::amount(
        "KEYDERIVE_HEAT_OPERATIONS",
        "operations in a grid of heat",
        60_000,
        1_000_000,
    );
    for (name, operations) in workloads(count as usize) {
        let builder = build(GridBuilder::new().limits(200, 200), &operations);
        let grid = builder.grid();
        compare(&grid, &operations);
        let cells: usize = grid.rows.iter().map(|row| row.cells.len()).sum();
        assert!(cells <= 200 * 200, "{cells}");
        // The rows follow the load: no range that has two keys has much more than its share.
        let heaviest = grid.busiest(Measure::Writes).unwrap();
        println!("{name}: {heaviest:?} of {} rows, error {}", grid.rows(), grid.error(Measure::Writes));
        if matches!(name, "users" | "uniform") {
            assert!(grid.rows() > 100, "{name}: {}", grid.rows());
        }
    }
}

#[test]
fn folding_and_widening_never_lower_a_peak() {
    let (_, operations) = workloads(25_000).swap_remove(2);
    let fine = build(GridBuilder::new().limits(4096, 512), &operations).grid();
    let peak = |grid: &Grid| grid.busiest(Measure::Writes).unwrap().load;
    for (columns, rows) in [(512, 512), (64, 64), (16, 16)] {
        let coarse = build(GridBuilder::new().limits(columns, rows), &operations).grid();
        assert!(peak(&coarse).peak >= peak(&fine).peak - peak(&fine).error, "{columns} × {rows}");
    }
    let mut wide = fine.clone();
    for _ in 0..12 {
        let before = peak(&wide);
        wide.widen();
        assert_eq!(peak(&wide).peak.max(before.peak), peak(&wide).peak);
        compare(&wide, &operations);
    }
}

#[test]
fn rows_follow_a_date_that_grows() {
    let (_, operations) = workloads(200_000).swap_remove(0);
    let grid = build(GridBuilder::new().limits(64, 64), &operations).grid();
    // Each column has its writes in few ranges, and the busiest goes up: a diagonal.
    let busiest = |column| {
        let loads = grid.loads(column, Measure::Writes);
        let most = loads.iter().map(|load| load.sum).max().unwrap();
        loads.iter().position(|load| load.sum == most).unwrap()
    };
    let rows: Vec<_> = (0..grid.columns()).map(busiest).collect();
    assert!(rows.is_sorted(), "{rows:?}");
    let different: std::collections::BTreeSet<_> = rows.iter().collect();
    assert!(different.len() > 20, "{rows:?}");
}

#[test]
fn a_busy_user_is_a_line_and_not_all_that_is_above_it() {
    // Four of ten operations are of one user, whose keys grow with time.
    let mut random = fastrand::Rng::with_seed(3);
    let operations: Vec<Operation> = (0..100_000)
        .map(|at| {
            let user = if random.u8(..10) < 4 { 3597 } else { random.u32(..10_000) };
            (at * 36, format!("user{user:05}#{:013}", at * 36).into_bytes(), Access::Write, 1)
        })
        .collect();
    let grid = build(GridBuilder::new().slot(Duration::from_secs(5)), &operations).grid();
    compare(&grid, &operations);
    // At first, the ranges are not those of the end.
    for column in grid.columns() / 8..grid.columns() {
        let whole = grid.whole(column, Measure::Writes).peak;
        let loads = grid.loads(column, Measure::Writes);
        let hot = loads.iter().filter(|load| load.peak * 5 > whole).count();
        assert!((1..grid.rows() / 16).contains(&hot), "{hot} of {} in column {column}", grid.rows());
        assert!(loads.iter().all(|load| load.peak * 10 < whole * 6), "in column {column}");
    }
}

#[test]
fn grids_of_two_processes_are_one() {
    for (name, operations) in workloads(40_000) {
        println!("{name}");
        let builder = || GridBuilder::new().limits(64, 64).boundaries(["user0001", "user02", "5"]);
        let (one, other): (Vec<_>, Vec<_>) =
            operations.iter().cloned().enumerate().partition(|(at, _)| at % 3 == 0);
        let part = |part: Vec<(usize, Operation)>| {
            let part: Vec<_> = part.into_iter().map(|(_, operation)| operation).collect();
            build(builder(), &part).grid()
        };
        let (one, other) = (part(one), part(other));
        let merged = one.merge(&other).unwrap();
        compare(&merged, &operations);
        let whole = build(builder(), &operations).grid();
        for range in [KeyRange::new("user0001", Some("user02".into())), KeyRange::new("user02", None)] {
            let (least, most) = merged.between(&range, Measure::Bytes);
            assert_eq!(least, most);
            assert_eq!((least, most), whole.between(&range, Measure::Bytes));
        }
        let empty = GridBuilder::new().grid();
        assert_eq!(empty.merge(&whole).unwrap(), whole);
        assert_eq!(whole.merge(&empty).unwrap(), whole);
        let error = one.merge(&GridBuilder::new().slot(Duration::from_secs(2)).grid()).unwrap_err();
        assert!(error.to_string().contains("slots of 1000 ms"), "{error}");
    }
}

#[test]
fn a_grid_is_the_same_as_data_and_hostile_data_is_an_error() {
    for (_, operations) in workloads(20_000) {
        let grid = build(GridBuilder::new().limits(50, 50), &operations).grid();
        let json = serde_json::to_string(&grid).unwrap();
        let mut read: Grid = serde_json::from_str(&json).unwrap();
        read.rows
            .iter_mut()
            .zip(&grid.rows)
            .for_each(|(one, other)| one.cells.resize(other.cells.len(), Cell::default()));
        assert_eq!(read, grid);
    }
    let good = |change: &dyn Fn(&mut serde_json::Value)| {
        let operations = [(5, b"a".to_vec(), Access::Write, 1), (70_000, b"b".to_vec(), Access::Read, 2)];
        let mut json =
            serde_json::to_value(build(GridBuilder::new().boundaries(["b"]), &operations).grid()).unwrap();
        change(&mut json);
        serde_json::from_value::<Grid>(json)
    };
    assert!(good(&|_| ()).is_ok());
    let bad: [(&str, serde_json::Value); 14] = [
        ("/version", 2.into()),
        ("/slot_ms", 0.into()),
        ("/slot_ms", (-1000).into()),
        ("/width_ms", 3000.into()),
        ("/width_ms", i64::MAX.into()),
        ("/first_column", i64::MAX.into()),
        ("/first_column", i64::MIN.into()),
        ("/columns", u64::MAX.into()),
        ("/most_rows", 1_000_000.into()),
        ("/rows", serde_json::json!([])),
        ("/rows/0/start", "00".into()),
        ("/rows/1/start", "".into()),
        ("/rows/0/cells/0/0", 100.into()),
        ("/rows/0/cells/0/2/0", 7.into()),
    ];
    for (place, value) in bad {
        let error = good(&|json| *json.pointer_mut(place).unwrap() = value.clone()).unwrap_err().to_string();
        assert!(error.starts_with("not a grid of heat"), "{place}: {error}");
    }
    // Every number that passes makes no call panic.
    for value in [0, 1, i64::MAX, i64::MIN, -1] {
        for place in ["/rows/1/with_row_before", "/whole/0/1/0", "/first_column"] {
            let new =
                if place.ends_with("before") { serde_json::json!([value, i64::MAX]) } else { value.into() };
            if let Ok(grid) = good(&|json| *json.pointer_mut(place).unwrap() = new.clone()) {
                let _ = (grid.busiest(Measure::Bytes), grid.error(Measure::Bytes), grid.merge(&grid));
            }
        }
    }
}

#[test]
fn times_from_the_first_to_the_last_are_counted() {
    let times = [0, i64::MAX, i64::MIN, -1, 1, i64::MAX / 3];
    let operations: Vec<_> =
        (0..10_000).map(|at| (times[at % times.len()], vec![at as u8], Access::Write, 1)).collect();
    let grid = build(GridBuilder::new(), &operations).grid();
    assert_eq!(grid.total(Measure::Writes), 10_000);
    compare(&grid, &operations);
}
