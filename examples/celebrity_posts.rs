//! Posts of a celebrity, spread over the buckets of a salt: writes go to all buckets; reads merge all buckets, page by
//! page.
//!
//! ```sh
//! cargo run --example celebrity_posts                                               # in memory
//! KEYDERIVE_ADDRESS=emulator://localhost:8086 cargo run --example celebrity_posts   # on an emulator
//! ```

use std::collections::BTreeMap;
use std::error::Error;

use jiff::{Timestamp, ToSpan as _};
use keyderive::{Client, Row, RowKey, Table};

/// `user-site-time` after a bucket by the hash of all three, so that no tablet has all posts of one user. The newest
/// post comes first.
#[derive(RowKey, Debug, Clone)]
#[row_key(delimiter = '-')]
#[salt(range = 4)]
struct PostKey {
    user: String,
    site: String,
    #[reverse_ts]
    #[row_key(ts(unit = "millis"))]
    at: Timestamp,
}

/// The same key, but the hash leaves out the time: a user's posts on one site stay together, and the sites are spread.
#[derive(RowKey, Debug, Clone)]
#[row_key(delimiter = '-')]
#[salt(range = 4, over = "user,site")]
struct SitePostKey {
    user: String,
    site: String,
    #[reverse_ts]
    #[row_key(ts(unit = "millis"))]
    at: Timestamp,
}

#[derive(Row, Debug)]
struct Post {
    text: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // An address, such as `emulator://localhost:8086` or `bigtable://my-project/my-instance`; in memory if unset.
    let address = std::env::var("KEYDERIVE_ADDRESS").unwrap_or_else(|_| "embedded:".to_owned());
    let client = Client::connect(&address).await?;
    println!("target: {}", client.target());
    println!("{}\n{}\n", PostKey::SCHEMA, SitePostKey::SCHEMA);

    let posts = client.table::<PostKey, Post>("celebrity-posts");
    posts.create_if_absent().await?;
    let begin: Timestamp = "2015-03-16T19:00:00Z".parse()?;
    let mut buckets: BTreeMap<String, u32> = BTreeMap::new();
    let writer = posts.writer();
    for n in 0..1000 {
        let (key, post) = post("corrie", n, begin);
        let bucket = key.to_text()?.split('-').next().map(str::to_owned);
        *buckets.entry(bucket.unwrap_or_default()).or_default() += 1;
        writer.put(&key, &post).await?;
    }
    // A user whose name starts with the other's.
    for n in 0..10 {
        let (key, post) = post("corriedale", n, begin);
        writer.put(&key, &post).await?;
    }
    println!("{} posts written; those of corrie by bucket: {buckets:?}\n", writer.close().await?);

    // The bucket is computed from the key, so one post takes one read.
    let (key, _) = post("corrie", 500, begin);
    println!("{}", PostKey::scan().user("corrie").site(&key.site).at(key.at).explain()?);
    println!("{}: {:?}\n", key.to_text()?, posts.get(&key).await?);

    let home = posts.scan(PostKey::scan().user("corrie").site("home"));
    println!("{}", home.explain()?);
    read_pages(&posts).await?;

    let second_hour =
        PostKey::scan().user("corrie").site("home").at_range(begin + 1.hour()..begin + 2.hours());
    println!("\n{}", second_hour.explain()?);
    println!("{} posts of corrie at home in the second hour", posts.count(second_hour).await?);

    // With the other key, a scan reads a single bucket if it fixes user and site.
    println!("\n{}", SitePostKey::scan().user("corrie").site("home").explain()?);
    println!("\n{}", SitePostKey::scan().user("corrie").explain()?);
    Ok(())
}

/// Reads all posts page by page, as a web server would: each request carries only the page token.
async fn read_pages(posts: &Table<PostKey, Post>) -> Result<(), Box<dyn Error>> {
    let (mut token, mut pages, mut read) = (None::<String>, 0, Vec::new());
    loop {
        let mut scan = posts.scan(PostKey::scan().user("corrie").site("home"));
        if let Some(token) = &token {
            scan = scan.after(token);
        }
        let page = scan.page(60).await?;
        pages += 1;
        if pages <= 2 {
            println!("page {pages}:");
            page.rows
                .iter()
                .take(3)
                .for_each(|(key, post)| println!("  {} {} {}", key.user, key.at, post.text));
        }
        read.extend(page.rows.into_iter().map(|(key, _)| key.at));
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    let is_sorted = read.is_sorted_by(|newer, older| newer > older);
    println!("{} posts on {pages} pages, each newer than the next: {is_sorted}", read.len());
    Ok(())
}

/// A post every 12 seconds, on one of two sites.
fn post(user: &str, n: i64, begin: Timestamp) -> (PostKey, Post) {
    let site = if n % 3 == 0 { "news" } else { "home" };
    let key = PostKey { user: user.to_owned(), site: site.to_owned(), at: begin + (12 * n).seconds() };
    (key, Post { text: format!("post {n} of {user}") })
}
