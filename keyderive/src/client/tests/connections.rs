//! Connections: primed, renewed, and used until they close.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tonic::Status;

use super::fleet::Fleet;
use super::*;
use crate::client::connections::{Dial, Dialer, Pool, Transport, Upkeep, prime};
use crate::row::Mutation;

const MINUTE: Duration = Duration::from_secs(60);

/// Sends a request on each of the four connections of a client.
async fn use_each(client: &Client) {
    for _ in 0..4 {
        assert!(client.sample_row_keys(&client.route("t")).await.unwrap_err().is_not_found());
    }
}

#[tokio::test(start_paused = true)]
async fn connections_to_the_cloud_are_primed_before_the_client_is_returned() {
    let fleet = Fleet::new();
    let client = fleet.cloud(Client::builder().instance("p", "i").app_profile("batch")).await;
    let seen = fleet.take_seen();
    assert_eq!(seen.iter().map(|seen| seen.line).collect::<Vec<_>>(), [0, 1, 2, 3]);
    for ping in &seen {
        assert_eq!(ping.rpc, "PingAndWarm");
        assert_eq!(
            ping.headers["x-goog-request-params"],
            "name=projects%2Fp%2Finstances%2Fi&app_profile_id=batch"
        );
    }
    use_each(&client).await;
    assert_eq!(fleet.take_connections("SampleRowKeys"), [0, 1, 2, 3]);
}

#[tokio::test(start_paused = true)]
async fn priming_and_the_number_of_connections_can_be_set() {
    let fleet = Fleet::new();
    let client = fleet.cloud(Client::builder().prime(false).connections(2)).await;
    assert!(fleet.take_seen().is_empty());
    use_each(&client).await;
    assert_eq!(fleet.take_connections("SampleRowKeys"), [0, 0, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_cannot_be_primed_is_used_all_the_same() {
    let fleet = Fleet::new();
    fleet.refuse(|seen| (seen.rpc == "PingAndWarm").then(|| Status::internal("not now")));
    let client = fleet.cloud(Client::builder()).await;
    // Pings are not retried.
    assert_eq!(fleet.take_connections("PingAndWarm"), [0, 1, 2, 3]);
    use_each(&client).await;
    sleep(50 * MINUTE).await;
    assert_eq!(fleet.take_connections("PingAndWarm"), [4, 5, 6, 7]);
    use_each(&client).await;
    assert_eq!(fleet.take_connections("SampleRowKeys"), [4, 5, 6, 7]);
}

#[tokio::test(start_paused = true)]
async fn connections_are_renewed_before_their_hour_and_not_all_at_once() {
    let fleet = Fleet::new();
    let client = fleet.cloud(Client::builder()).await;
    fleet.take_seen();
    sleep(45 * MINUTE - Duration::from_millis(1)).await;
    assert_eq!(fleet.dialed(), 4);
    let mut renewed = Vec::new();
    for _ in 0..=300 {
        sleep(Duration::from_secs(1)).await;
        renewed.push(fleet.dialed());
    }
    assert_eq!(renewed.last(), Some(&8));
    renewed.dedup();
    assert!(renewed.len() > 2, "all at once: {renewed:?}");
    let mut primed = fleet.take_seen();
    primed.retain(|seen| seen.rpc == "PingAndWarm");
    assert_eq!(primed.len(), 4);
    use_each(&client).await;
    assert_eq!(fleet.take_connections("SampleRowKeys"), [4, 5, 6, 7]);
    // Renewed connections are renewed again.
    sleep(50 * MINUTE).await;
    assert_eq!(fleet.dialed(), 12);
}

#[tokio::test(start_paused = true)]
async fn the_age_of_connections_can_be_set() {
    let fleet = Fleet::new();
    let age = Duration::from_secs(9);
    let _client = fleet.cloud(Client::builder().connections(1).refresh_connections_after(age)).await;
    sleep(age - Duration::from_millis(1)).await;
    assert_eq!(fleet.dialed(), 1);
    sleep(Duration::from_millis(1002)).await;
    assert_eq!(fleet.dialed(), 2);
    for extreme in [Duration::ZERO, Duration::MAX] {
        let fleet = Fleet::new();
        let _client = fleet.cloud(Client::builder().connections(1).refresh_connections_after(extreme)).await;
        sleep(Duration::from_secs(4)).await;
        assert!(if extreme.is_zero() { (4..=5).contains(&fleet.dialed()) } else { fleet.dialed() == 1 });
    }
}

#[tokio::test(start_paused = true)]
async fn an_old_connection_ends_with_its_last_request() {
    let fleet = Fleet::new();
    let client = fleet.cloud(Client::builder().connections(1)).await;
    let connection = client.inner.pool.get(None, 0).unwrap();
    sleep(50 * MINUTE).await;
    use_each(&client).await;
    assert_eq!(fleet.take_connections("SampleRowKeys"), [1; 4]);
    assert!(fleet.is_open(0));
    drop(connection);
    assert!(!fleet.is_open(0) && fleet.is_open(1));
}

#[tokio::test(start_paused = true)]
async fn renewal_ends_with_the_client() {
    let fleet = Fleet::new();
    let client = fleet.cloud(Client::builder()).await;
    let clone = client.clone();
    drop(client);
    sleep(50 * MINUTE).await;
    assert_eq!(fleet.dialed(), 8);
    drop(clone);
    tokio::task::yield_now().await;
    assert_eq!(fleet.holders(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_closed_client_renews_nothing() {
    let fleet = Fleet::new();
    let client = fleet.cloud(Client::builder()).await;
    client.close().await;
    sleep(60 * MINUTE).await;
    assert_eq!(fleet.dialed(), 4);
}

#[tokio::test]
async fn a_connection_stays_if_the_new_one_reaches_no_server() {
    let fleet = Fleet::new();
    let client = fleet.cloud(Client::builder().connections(1)).await;
    let dialer = Arc::new(Dialer::emulator("127.0.0.1:1").unwrap());
    let pool = Arc::clone(&client.inner.pool);
    let upkeep = Upkeep { pool, dialer, refresh_after: None, prime: true, is_sampled: false };
    assert!(upkeep.renew(&client, 0).await.unwrap_err().is_unavailable());
    use_each(&client).await;
    assert!(fleet.is_open(0));
}

/// The first bytes of a connection to the listener: the preface, the settings, and the window of the connection.
async fn opening(listener: &TcpListener, dialer: &dyn Dial) -> Vec<u8> {
    let client = Client::embedded();
    let transport = dialer.dial();
    let pool = Arc::new(Pool::new([transport.clone()]));
    let Transport::Http2(_) = transport else { panic!("a connection over TCP") };
    let call = tokio::spawn(async move { prime(&client, &[transport]).await });
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut opening = vec![0; 24 + 9];
    socket.read_exact(&mut opening).await.unwrap();
    let settings = usize::from(opening[25]) << 8 | usize::from(opening[26]);
    let mut rest = vec![0; settings + 13];
    socket.read_exact(&mut rest).await.unwrap();
    opening.extend(rest);
    drop((socket, pool));
    call.await.unwrap();
    opening
}

#[tokio::test]
async fn a_renewed_connection_has_the_options_of_the_first() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dialer = Dialer::emulator(&listener.local_addr().unwrap().to_string()).unwrap();
    let first = opening(&listener, &dialer).await;
    assert_eq!(first, opening(&listener, &dialer).await);
    let has = |opening: &[u8], part: &[u8]| opening.windows(part.len()).any(|window| window == part);
    assert!(has(&first, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    // SETTINGS_INITIAL_WINDOW_SIZE of 1 MiB, and a connection window of 2^31 - 1 rather than the initial 65,535.
    assert!(has(&first, &[0, 4, 0, 16, 0, 0]));
    assert!(has(&first, &(0x7fff_ffff_u32 - 65_535).to_be_bytes()));
    // 64 KiB for scans with many streams.
    let small_windows = opening(&listener, &*dialer.small_windows()).await;
    assert!(has(&small_windows, &[0, 4, 0, 1, 0, 0]));
    assert!(has(&small_windows, &(0x7fff_ffff_u32 - 65_535).to_be_bytes()));
}

#[tokio::test]
async fn scans_with_many_streams_have_connections_of_their_own() {
    let fleet = Fleet::new();
    let client = fleet.cloud(Client::builder().connections(1)).await;
    client.create_table("t", NewTable::with_family("f")).await.unwrap();
    let dialed = fleet.dialed();
    let mut lines = Vec::new();
    for high_fan_out in [false, true, true, false] {
        let rows = client.read_rows(&client.route("t"), ReadRows { high_fan_out, ..ReadRows::all() });
        assert!(rows.try_collect::<Vec<_>>().await.unwrap().is_empty());
        lines.extend(fleet.take_connections("ReadRows"));
    }
    assert_eq!(lines, [lines[0], lines[1], lines[1], lines[0]]);
    assert_ne!(lines[0], lines[1]);
    assert_eq!(fleet.dialed(), dialed + 1);
}

#[tokio::test(start_paused = true)]
async fn messages_may_be_large_on_a_renewed_connection_too() {
    let fleet = Fleet::new();
    let client = fleet.cloud(Client::builder().connections(1)).await;
    client.create_table("t", NewTable::with_family("f")).await.unwrap();
    sleep(50 * MINUTE).await;
    let large = vec![7; 5 << 20];
    client
        .mutate_row(&client.route("t"), "k".into(), vec![Mutation::set("f", "q", 0, large.clone())])
        .await
        .unwrap();
    let row = client.read_row(&client.route("t"), "k".into(), None).await.unwrap().unwrap();
    assert!(row.cells().next().unwrap().value() == large);
    assert_eq!(fleet.take_connections("ReadRows"), [1]);
}
