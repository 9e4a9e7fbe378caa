//! Operations from the program's port to a scripted server and back.

use std::process::Command;

use keyderive_proto::data;
use keyderive_scripted::{Answer, Mock, Rpc};
use keyderive_test_proxy::proto::cloud_bigtable_v2_test_proxy_client::CloudBigtableV2TestProxyClient;
use keyderive_test_proxy::proto::*;
use tonic::Code;

use crate::Program;

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
