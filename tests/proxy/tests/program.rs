//! The program, started as the conformance suite does.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

use std::net::TcpListener;
use std::process::{Child, Command};
use std::time::Duration;

use keyderive_proto::data;
use keyderive_scripted::{Answer, Mock, Rpc};
use keyderive_test_proxy::proto::cloud_bigtable_v2_test_proxy_client::CloudBigtableV2TestProxyClient;
use keyderive_test_proxy::proto::*;
use tonic::Code;
use tonic::transport::Channel;

/// A running proxy. It ends when dropped.
struct Program {
    process: Child,
    port: u16,
}

impl Program {
    fn start() -> Self {
        // The port is free until the program takes it.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let program = env!("CARGO_BIN_EXE_test-proxy");
        let process = Command::new(program).args(["--port", &port.to_string()]).spawn().unwrap();
        Self { process, port }
    }

    /// A connection, once the program listens.
    async fn connect(&self) -> Channel {
        let endpoint = Channel::from_shared(format!("http://localhost:{}", self.port)).unwrap();
        for _ in 0..400 {
            match endpoint.connect().await {
                Ok(channel) => return channel,
                Err(_) => tokio::time::sleep(Duration::from_millis(25)).await,
            }
        }
        panic!("the test proxy does not listen on port {}", self.port);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Neither can fail for a child process that nobody has waited for.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn operations_run_from_end_to_end() {
    let program = Program::start();
    let mut proxy = CloudBigtableV2TestProxyClient::new(program.connect().await);
    let mock = Mock::new()
        .on(Rpc::ReadRows, Answer::rows(["row-01"]).fail(Code::Unavailable))
        .on(Rpc::ReadRows, Answer::rows(["row-05"]));
    let client_id = "c".to_owned();
    proxy
        .create_client(CreateClientRequest {
            client_id: client_id.clone(),
            data_target: mock.listen().await,
            project_id: "project".to_owned(),
            instance_id: "instance".to_owned(),
            ..CreateClientRequest::default()
        })
        .await
        .unwrap();

    let request = data::ReadRowsRequest {
        table_name: "projects/project/instances/instance/tables/table".to_owned(),
        ..data::ReadRowsRequest::default()
    };
    let request =
        ReadRowsRequest { client_id: client_id.clone(), request: Some(request), cancel_after_rows: 0 };
    let result = proxy.read_rows(request).await.unwrap().into_inner();
    assert_eq!(result.status.unwrap().code, 0);
    let keys: Vec<_> = result.rows.into_iter().map(|row| row.key).collect();
    assert_eq!(keys, ["row-01", "row-05"]);
    assert_eq!(mock.requests().len(), 2);

    proxy.close_client(CloseClientRequest { client_id: client_id.clone() }).await.unwrap();
    proxy.remove_client(RemoveClientRequest { client_id }).await.unwrap();
}

#[test]
fn without_a_port_it_says_what_to_write() {
    let output = Command::new(env!("CARGO_BIN_EXE_test-proxy")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "usage: test-proxy --port <port>\n");
}
