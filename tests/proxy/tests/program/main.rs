//! The program, started as the conformance suite does.

mod conformance;
mod operations;

use std::net::TcpListener;
use std::process::{Child, Command};
use std::time::Duration;

use tonic::transport::Channel;

/// A running proxy. It ends when dropped.
struct Program {
    process: Child,
    port: u16,
}

/// A port that is free until somebody takes it.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Program {
    fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts it with these variables in its environment.
    fn start_with(variables: &[(&str, &str)]) -> Self {
        let port = free_port();
        let mut command = Command::new(env!("CARGO_BIN_EXE_test-proxy"));
        let process =
            command.args(["--port", &port.to_string()]).envs(variables.iter().copied()).spawn().unwrap();
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
