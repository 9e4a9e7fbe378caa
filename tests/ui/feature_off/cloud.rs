use keyderive::Client;

async fn start() -> Result<(), keyderive::Error> {
    let _client = Client::cloud("project", "instance").await?;
    let _built = Client::builder().cloud("project", String::from("instance")).await?;
    Ok(())
}

fn main() {
    drop(start());
}
