//! `test-proxy --port 9999` serves the test proxy on a port of the loopback interface.

use std::net::SocketAddr;
use std::process::ExitCode;

use keyderive_test_proxy::Proxy;
use tonic::transport::Server;

const USAGE: &str = "usage: test-proxy --port <port>";

#[tokio::main]
async fn main() -> ExitCode {
    let Some(port) = port(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    match Server::builder().serve(address, Proxy::new().into_service()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the test proxy cannot serve on {address}: {error:?}");
            ExitCode::FAILURE
        }
    }
}

/// The port in `--port 9999` or `--port=9999`.
fn port(mut arguments: impl Iterator<Item = String>) -> Option<u16> {
    let first = arguments.next()?;
    let port = match first.strip_prefix("--port=") {
        Some(port) => port.to_owned(),
        None if first == "--port" => arguments.next()?,
        None => return None,
    };
    arguments.next().is_none().then_some(())?;
    port.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_the_only_argument() {
        let port = |line: &str| port(line.split_whitespace().map(str::to_owned));
        assert_eq!(port("--port 9999"), Some(9999));
        assert_eq!(port("--port=9999"), Some(9999));
        for other in ["", "--port", "9999", "--port 99999", "--port 9999 more", "--port=", "--ports=1"] {
            assert_eq!(port(other), None, "{other}");
        }
    }
}
