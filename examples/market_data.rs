//! Quotes and trades of stock exchanges in one table: one message by its key, a day of a symbol, the newest first.
//!
//! ```sh
//! cargo run --example market_data                                               # in memory
//! KEYDERIVE_ADDRESS=emulator://localhost:8086 cargo run --example market_data   # on an emulator
//! ```

use std::collections::BTreeSet;
use std::error::Error;

use jiff::{Timestamp, ToSpan as _};
use keyderive::row::RawRow;
use keyderive::{Client, Row, RowKey};

/// Exchange and symbol come first, so that they spread the writes, and are padded, so that each part is at a known
/// offset. Times ascend, because not every query is for the latest; a query for the latest scans in reverse.
#[derive(RowKey, Debug)]
#[row_key(tag = "QUOTE")]
struct QuoteKey {
    #[pad(6)]
    exchange: String,
    #[pad(5)]
    symbol: String,
    #[row_key(ts(unit = "millis"))]
    quote_time: Timestamp,
}

/// The same fields after another tag, so that neither type sees the other's rows.
#[derive(RowKey, Debug)]
#[row_key(tag = "TRADE")]
struct TradeKey {
    #[pad(6)]
    exchange: String,
    #[pad(5)]
    symbol: String,
    #[row_key(ts(unit = "millis"))]
    trade_time: Timestamp,
}

#[derive(Row, Debug)]
#[row(family = "MD")]
struct Quote {
    #[row(name = "BID")]
    bid: f64,
    #[row(name = "ASK")]
    ask: f64,
    #[row(name = "BIDSIZE")]
    bid_size: u32,
    #[row(name = "ASKSIZE")]
    ask_size: u32,
}

#[derive(Row, Debug)]
#[row(family = "MD")]
struct Trade {
    #[row(name = "LASTSALE")]
    last_sale: f64,
    #[row(name = "LASTSIZE")]
    last_size: u32,
    #[row(name = "VOLUME")]
    volume: u32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // An address, such as `emulator://localhost:8086` or `bigtable://my-project/my-instance`; in memory if unset.
    let address = std::env::var("KEYDERIVE_ADDRESS").unwrap_or_else(|_| "embedded:".to_owned());
    let client = Client::connect(&address).await?;
    println!("target: {}", client.target());
    println!("{}\n{}\n", QuoteKey::SCHEMA, TradeKey::SCHEMA);

    let quotes = client.table::<QuoteKey, Quote>("market-data");
    let trades = client.table::<TradeKey, Trade>("market-data");
    // SQL reads one row key schema per table, and this table has two key types.
    quotes.create().without_row_key_schema().if_absent().await?;
    trades.create().without_row_key_schema().if_absent().await?;
    let (all_quotes, all_trades) = messages()?;
    quotes.put_all(&all_quotes).await?;
    trades.put_all(&all_trades).await?;
    println!(
        "{} quotes and {} trades in the table `{}`\n",
        quotes.count(QuoteKey::scan()).await?,
        trades.count(TradeKey::scan()).await?,
        quotes.name(),
    );

    let (exchange, symbol) = ("NASDAQ".to_owned(), "ZXZZT".to_owned());
    let key = QuoteKey { exchange, symbol, quote_time: Timestamp::from_millisecond(1426535612156)? };
    println!("{}", QuoteKey::scan().exchange("NASDAQ").symbol("ZXZZT").quote_time(key.quote_time).explain()?);
    println!("{:?}", quotes.get(&key).await?);
    print_columns(quotes.get_raw(&key).await?.as_ref());

    let day: Timestamp = "2015-03-16T00:00:00-04:00".parse()?;
    let plan = QuoteKey::scan().exchange("NASDAQ").symbol("ZXZZT").quote_time_range(day..day + 24.hours());
    println!("\n{}", plan.explain()?);
    let rows = quotes.scan(plan).collect().await?;
    let bids = rows.iter().map(|(_, quote)| quote.bid);
    let (lowest, highest) = (bids.clone().fold(f64::MAX, f64::min), bids.fold(f64::MIN, f64::max));
    println!("{} quotes of ZXZZT on 16 March, bids from {lowest:.2} to {highest:.2}", rows.len());

    let newest = trades.scan(TradeKey::scan().exchange("NYSE").symbol("ZBZX")).reversed().limit(3);
    println!("\n{}", newest.explain()?);
    for (key, trade) in newest.collect().await? {
        println!(
            "{} {} {}: {} at {:.2}",
            key.exchange, key.symbol, key.trade_time, trade.last_size, trade.last_sale
        );
    }
    Ok(())
}

/// Prints the names of the stored columns. Names are short, because every cell stores its name. Each prints once,
/// although a replaced cell stays until the service collects it.
fn print_columns(row: Option<&RawRow>) {
    let cells = row.into_iter().flat_map(RawRow::cells);
    let columns: BTreeSet<_> =
        cells.map(|cell| (cell.family(), String::from_utf8_lossy(cell.qualifier()))).collect();
    columns.iter().for_each(|(family, qualifier)| println!("  {family}:{qualifier}"));
}

type Messages = (Vec<(QuoteKey, Quote)>, Vec<(TradeKey, Trade)>);

/// Three symbols that exchanges reserve for tests, on three days: a quote every 39 minutes, and a trade half a second
/// before it.
fn messages() -> Result<Messages, Box<dyn Error>> {
    let (mut quotes, mut trades) = (Vec::new(), Vec::new());
    for (exchange, symbol, cents) in
        [("NASDAQ", "ZXZZT", 60_055), ("NASDAQ", "ZVZZT", 1_002), ("NYSE", "ZBZX", 2_500)]
    {
        for opening in ["2015-03-13T09:30:00-04:00", "2015-03-16T09:30:00-04:00", "2015-03-17T09:30:00-04:00"]
        {
            let opening: Timestamp = opening.parse()?;
            for n in 0..10_i32 {
                let (exchange, symbol, at) =
                    (exchange.to_owned(), symbol.to_owned(), opening + (39 * n).minutes());
                let bid = f64::from(cents + n * 7 % 23 - 11) / 100.0;
                let size = 100 * (1 + n.unsigned_abs() % 4);
                let key = QuoteKey { exchange: exchange.clone(), symbol: symbol.clone(), quote_time: at };
                quotes.push((key, Quote { bid, ask: bid + 0.05, bid_size: size, ask_size: 2 * size }));
                let key = TradeKey { exchange, symbol, trade_time: at - 500.milliseconds() };
                let volume = 1_000 * (1 + n.unsigned_abs());
                trades.push((key, Trade { last_sale: bid + 0.03, last_size: size, volume }));
            }
        }
    }
    // The example message of Google's guide on time series.
    let (exchange, symbol) = ("NASDAQ".to_owned(), "ZXZZT".to_owned());
    let quote_time = Timestamp::from_millisecond(1426535612156)?;
    let key = QuoteKey { exchange: exchange.clone(), symbol: symbol.clone(), quote_time };
    quotes.push((key, Quote { bid: 600.55, ask: 600.60, bid_size: 500, ask_size: 1500 }));
    let trade_time = Timestamp::from_millisecond(1426535612045)?;
    let key = TradeKey { exchange, symbol, trade_time };
    trades.push((key, Trade { last_sale: 600.58, last_size: 300, volume: 89_000 }));
    Ok((quotes, trades))
}
