//! Faults of a server under a steady load, before, during and after.

use std::rc::Rc;
use std::time::Duration;

use keyderive::Client;
use keyderive::client::{Hedging, Settings};

use super::open_loop::{self, shown};
use super::server::{Fault, Server};
use super::{Size, block_on, read, read_or_write, table};
use crate::program::{Failure, print_head, print_line};

/// How the client is set in one line of the table.
type Change = fn(&mut Settings);

/// What happens at the beginning of each second of the middle third; the number counts from its first.
type EachSecond = fn(&Server, u32);

struct Case {
    what: &'static str,
    fault: Fault,
    settings: Change,
    each_second: EachSecond,
    /// How many seconds it lasts, if not the whole third.
    lasts: Option<u32>,
    /// Whether only reads are made.
    reads: bool,
}

/// No fault.
const NONE: Case = Case {
    what: "nothing",
    fault: Fault::None,
    settings: |_| (),
    each_second: |_, _| (),
    lasts: None,
    reads: false,
};

const CASES: [Case; 8] = [
    NONE,
    Case {
        what: "one connection of four stalls",
        each_second: |server, second| {
            if second == 0 {
                server.mock().freeze_oldest();
            }
        },
        ..NONE
    },
    Case {
        what: "GOAWAY on every connection, every second",
        each_second: |server, _| server.mock().go_away(),
        ..NONE
    },
    Case {
        what: "1 % of the answers take 500 ms, reads only",
        fault: Fault::SlowAtTimes(0.01),
        reads: true,
        ..NONE
    },
    Case {
        what: "the same, with `Hedging::Adaptive`",
        fault: Fault::SlowAtTimes(0.01),
        settings: |settings| settings.hedging = Hedging::Adaptive,
        reads: true,
        ..NONE
    },
    Case { what: "30 % UNAVAILABLE, with the retry budget", fault: Fault::Unavailable(0.3), ..NONE },
    Case {
        what: "30 % UNAVAILABLE, without it",
        fault: Fault::Unavailable(0.3),
        settings: |settings| settings.retry_budget = false,
        ..NONE
    },
    Case {
        what: "the server is gone for 5 s",
        each_second: |server, second| match second {
            0 => server.stop(),
            5 => server.restart(),
            _ => {}
        },
        lasts: Some(5),
        ..NONE
    },
];

pub(super) fn print(size: Size) -> Result<(), Failure> {
    let Size { rate, seconds } = size;
    println!("## Faults of the server\n");
    println!(
        "{rate} operations a second, half reads and half writes of one row if the line does not say otherwise, for {seconds} s, with \
         four connections and `Settings::serving`. The fault is on in the middle third. Requests are what the server sees for an \
         operation. All is well again from the first second on in which nothing fails and p99 is as before, counted from the \
         fault's end.\n"
    );
    print_head(&["fault", "part", "p50", "p99", "p99.9", "slowest", "errors", "requests", "well again"]);
    for case in &CASES {
        block_on(measure(case, size))??;
    }
    println!();
    Ok(())
}

async fn measure(case: &Case, Size { rate, seconds }: Size) -> Result<(), Failure> {
    let server = Rc::new(Server::start(case.fault));
    let client = Client::builder().connections(4).settings(Settings::serving).settings(case.settings);
    let table = table(&client.emulator(server.host()).await?);
    let third = seconds / 3;
    // Connections open, and code and caches are warm.
    open_loop::run(rate, 2, |number| with(&table, case.reads, number), |_| ()).await;
    let mut seen = Vec::new();
    let run = open_loop::run(
        rate,
        3 * third,
        |number| with(&table, case.reads, number),
        |second| {
            server.set((third..2 * third).contains(&second));
            if second.is_multiple_of(third) {
                seen.push(server.requests());
            }
            if let Some(second) = second.checked_sub(third).filter(|second| *second < third) {
                (case.each_second)(&server, second);
            }
        },
    )
    .await;
    seen.push(server.requests());
    let before = run.between(0, third).quantile(0.99);
    for (number, part) in (0..).zip(["before", "during", "after"]) {
        let operations = run.between(number * third, (number + 1) * third);
        let [p50, p99, p999, most] = [0.5, 0.99, 0.999, 1.0].map(|share| shown(operations.quantile(share)));
        let count = operations.count() as f64;
        let requests = format!("{:.2}", (seen[number as usize + 1] - seen[number as usize]) as f64 / count);
        let errors = format!("{:.2} %", 100.0 * operations.errors as f64 / count);
        // As before, but for the noise of a second.
        let well = match part {
            "after" => well_again(
                run.well_from(third, (3 * before).max(Duration::from_millis(5))),
                third,
                case.lasts,
            ),
            _ => String::new(),
        };
        let what = if number == 0 { case.what } else { "" };
        print_line(&[what, part, &p50, &p99, &p999, &most, &errors, &requests, &well]);
    }
    Ok(())
}

/// How long after the end of the fault all is well for good. `third` is the second in which it begins.
fn well_again(second: Option<u32>, third: u32, lasts: Option<u32>) -> String {
    match second {
        Some(second) if second == third => "always".to_owned(),
        Some(second) => match second.saturating_sub(third + lasts.unwrap_or(third)) {
            0 => "at once".to_owned(),
            seconds => format!("after {seconds} s"),
        },
        None => "never".to_owned(),
    }
}

fn with(
    table: &keyderive::Table<super::ReadingKey, super::Reading>,
    reads: bool,
    number: u64,
) -> impl Future<Output = Result<(), keyderive::Error>> + 'static {
    let table = table.clone();
    async move { if reads { read(&table).await } else { read_or_write(&table, number).await } }
}
