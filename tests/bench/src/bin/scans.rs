//! Scans of the embedded Bigtable over 1, 4, 16 and 64 buckets, compared with the same rows unsalted in one stream.
//!
//! `cargo run --release -p keyderive-bench --bin scans`. Each table has 1,000,000 rows. Each is read completely, in
//! key order, several times, and the least processor time of the one thread counts, client and server together,
//! because other load on the machine only adds. Memory is the peak of the heap beyond the loaded table during a scan,
//! for the first tenth of the rows and for all of them.
//!
//! A table is loaded in random order, where adjacent rows are apart in memory, and in key order, where adjacent rows
//! of the unsalted table are together and those of one bucket are not.

use std::fmt;
use std::time::Duration;

use fastrand::Rng;
use keyderive::key::OwnedRowKey;
use keyderive::{Client, Row, RowKey, Table};
use keyderive_bench::meter::processor_time;
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const ROWS: u32 = 1_000_000;
const RUNS: usize = 3;

#[derive(Row)]
struct Reading {
    celsius: f64,
    humidity: i64,
    station: String,
}

/// The rows of one table, by one key type.
trait Numbered: OwnedRowKey + 'static {
    const BUCKETS: &'static str;
    fn new(id: u32) -> Self;
    fn id(&self) -> u32;
    fn full_scan() -> keyderive::plan::Plan<Self>;
}

macro_rules! numbered {
    ($($(#[$attribute:meta])* $key:ident $buckets:literal;)*) => {$(
        #[derive(RowKey)]
        $(#[$attribute])*
        struct $key {
            id: u32,
        }

        impl Numbered for $key {
            const BUCKETS: &'static str = $buckets;

            fn new(id: u32) -> Self {
                Self { id }
            }

            fn id(&self) -> u32 {
                self.id
            }

            fn full_scan() -> keyderive::plan::Plan<Self> {
                Self::scan().into_plan().unwrap()
            }
        }
    )*};
}

// A salt has at least two buckets, so the single bucket is a table without a salt.
numbered! {
    Unsalted "1 (unsalted)";
    #[salt(range = 4)]
    In4 "4";
    #[salt(range = 16)]
    In16 "16";
    #[salt(range = 64)]
    In64 "64";
}

/// The order in which a table's rows were written.
#[derive(Clone, Copy, Debug)]
enum Loaded {
    AtRandom,
    InKeyOrder,
}

impl Loaded {
    fn ids(self) -> Vec<u32> {
        let mut ids: Vec<u32> = (0..ROWS).collect();
        if let Self::AtRandom = self {
            Rng::with_seed(0x7363_616e).shuffle(&mut ids);
        }
        ids
    }
}

impl fmt::Display for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AtRandom => "in random order",
            Self::InKeyOrder => "in the order of the keys",
        })
    }
}

type Failure = Box<dyn std::error::Error>;

/// The results of a scan.
struct Figures {
    buckets: &'static str,
    time: Duration,
    /// The peaks beyond the table, for a tenth of the rows and for all.
    peaks: [usize; 2],
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    for loaded in [Loaded::AtRandom, Loaded::InKeyOrder] {
        print(
            loaded,
            &[
                figures::<Unsalted>(loaded).await?,
                figures::<In4>(loaded).await?,
                figures::<In16>(loaded).await?,
                figures::<In64>(loaded).await?,
            ],
        );
    }
    Ok(())
}

fn print(loaded: Loaded, figures: &[Figures; 4]) {
    println!("Loaded {loaded}:\n");
    println!(
        "| buckets | rows a second of processor time | of unsalted | peak, {} rows | peak, {ROWS} rows |",
        ROWS / 10
    );
    println!("|---|---|---|---|---|");
    for Figures { buckets, time, peaks: [tenth, all] } in figures {
        println!(
            "| {buckets} | {:.0} | {:.2} x | {} KiB | {} KiB |",
            f64::from(ROWS) / time.as_secs_f64(),
            time.as_secs_f64() / figures[0].time.as_secs_f64(),
            tenth >> 10,
            all >> 10,
        );
    }
    println!();
}

async fn figures<K: Numbered>(loaded: Loaded) -> Result<Figures, Failure> {
    let table = Client::embedded().table::<K, Reading>("readings");
    load(&table, loaded).await?;
    let mut time = Duration::MAX;
    for _ in 0..RUNS {
        let start = processor_time()?;
        read(&table, ROWS).await?;
        time = time.min(processor_time()? - start);
    }
    let peaks = [peak(&table, ROWS / 10).await?, peak(&table, ROWS).await?];
    Ok(Figures { buckets: K::BUCKETS, time, peaks })
}

async fn load<K: Numbered>(table: &Table<K, Reading>, loaded: Loaded) -> Result<(), Failure> {
    table.create_if_absent().await?;
    for id in loaded.ids() {
        let reading = Reading { celsius: f64::from(id), humidity: id.into(), station: "S-0042".to_owned() };
        table.put(&K::new(id), &reading).await?;
    }
    Ok(())
}

/// Reads the first `rows` rows in order, and checks them.
async fn read<K: Numbered>(table: &Table<K, Reading>, rows: u32) -> Result<(), Failure> {
    let mut stream = table.scan(K::full_scan()).stream();
    for id in 0..rows {
        let row = stream.next().await.transpose()?;
        assert!(row.is_some_and(|(key, reading)| key.id() == id && reading.humidity == i64::from(id)));
    }
    Ok(())
}

async fn peak<K: Numbered>(table: &Table<K, Reading>, rows: u32) -> Result<usize, Failure> {
    let before = PeakAlloc.current_usage();
    PeakAlloc.reset_peak_usage();
    read(table, rows).await?;
    Ok(PeakAlloc.peak_usage().saturating_sub(before))
}
