//! The Bigtables that the tests run on.

use keyderive::Client;
use keyderive_tests::emulator::Emulator;

/// Makes a test of each function, on the embedded Bigtable and on the emulator.
macro_rules! on_every_bigtable {
    ($($test:ident)*) => {
        mod embedded {
            $(#[tokio::test] async fn $test() { super::$test(keyderive::Client::embedded()).await; })*
        }
        mod emulator {
            $(#[tokio::test] async fn $test() {
                let Some((_emulator, client)) = crate::servers::emulator().await else { return };
                super::$test(client).await;
            })*
        }
    };
}
pub(crate) use on_every_bigtable;

/// A new emulator and its client, if one is installed.
pub(crate) async fn emulator() -> Option<(Emulator, Client)> {
    let emulator = Emulator::start()?;
    let client = Client::emulator(emulator.host()).await.unwrap();
    Some((emulator, client))
}
