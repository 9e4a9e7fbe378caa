use keyderive::Client;

async fn start() -> Result<(), keyderive::Error> {
    let _in_memory = Client::embedded();
    let _in_a_file = Client::embedded_at("events.keyderive").await?;
    let _built = Client::builder().embedded();
    let _built_in_a_file = Client::builder().embedded_at("events.keyderive").await?;
    Ok(())
}

fn main() {
    drop(start());
}
