//! Waiting until every cluster has what was written.

use std::time::Duration;

use keyderive_proto::admin;
use tokio::time::{Instant, sleep};

use crate::client::error::{Ended, Error, Tries};
use crate::client::failure::Failure;
use crate::client::{Client, call};

impl Client {
    /// Waits until every cluster of the instance has what was written to a table before.
    pub(crate) async fn wait_for_consistency(&self, table: &str) -> Result<(), Error> {
        // A wait that has begun may end when the client is closed.
        let client = self.clone().entered();
        let (total, begun) = (client.settings().admin.total_timeout, Instant::now());
        let token = client.consistency_token(table).await?;
        let mut checks: u32 = 0;
        loop {
            let left = total.saturating_sub(begun.elapsed());
            let check = client.with(|settings| settings.admin.total_timeout = left);
            if check.is_consistent(table, &token).await? {
                return Ok(());
            }
            checks = checks.saturating_add(1);
            let pause = client.settings().admin.backoff.pause(checks, fastrand::f64());
            if pause >= total.saturating_sub(begun.elapsed()) {
                return Err(client.not_consistent(table, checks, begun.elapsed(), total));
            }
            sleep(pause).await;
        }
    }

    /// A token for all that has been written to a table so far.
    async fn consistency_token(&self, table: &str) -> Result<String, Error> {
        let name = self.table_name(table);
        let operation = self.admin_operation("GenerateConsistencyToken", table, ("name", &name));
        let message = admin::GenerateConsistencyTokenRequest { name };
        let send = |transport, request| async move {
            call::admin(transport).generate_consistency_token(request).await
        };
        self.call(operation, message, send).await.map(|answer| answer.consistency_token)
    }

    async fn is_consistent(&self, table: &str, token: &str) -> Result<bool, Error> {
        let name = self.table_name(table);
        let operation = self.admin_operation("CheckConsistency", table, ("name", &name));
        let message = admin::CheckConsistencyRequest { name, consistency_token: token.to_owned() };
        let send =
            |transport, request| async move { call::admin(transport).check_consistency(request).await };
        self.call(operation, message, send).await.map(|answer| answer.consistent)
    }

    fn not_consistent(&self, table: &str, checks: u32, elapsed: Duration, allowed: Duration) -> Error {
        let operation = self.admin_operation("CheckConsistency", table, ("name", &self.table_name(table)));
        let failure = Failure::timed_out("not every cluster had what was written", allowed);
        Error::rpc(
            &operation,
            failure,
            Tries { attempts: checks, elapsed, ended: Some(Ended::Time(allowed)), open: None },
        )
    }
}
