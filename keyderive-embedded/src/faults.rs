//! Faults on demand, for tests of what a program does when a Bigtable fails it.

mod fault;
mod inject;
mod split;
mod streams;

use std::time::Duration;

use super::Bigtable;

pub use self::fault::Fault;
pub(super) use self::inject::Injector;
pub(super) use self::streams::{SplitStream, StreamFault, TruncatedStream};

/// A call of Bigtable's services, as its protocol names it.
///
/// A read of one row is a `ReadRows` too, and so is the request for each bucket of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "they are documented by the protocol")]
pub enum Method {
    ReadRows,
    SampleRowKeys,
    MutateRow,
    MutateRows,
    CheckAndMutateRow,
    ReadModifyWriteRow,
    PingAndWarm,
    CreateTable,
    ListTables,
    GetTable,
    DeleteTable,
    UpdateTable,
    ModifyColumnFamilies,
    DropRowRange,
    GenerateConsistencyToken,
    CheckConsistency,
}

impl Method {
    const ALL: [(Self, &str); 16] = [
        (Self::ReadRows, "ReadRows"),
        (Self::SampleRowKeys, "SampleRowKeys"),
        (Self::MutateRow, "MutateRow"),
        (Self::MutateRows, "MutateRows"),
        (Self::CheckAndMutateRow, "CheckAndMutateRow"),
        (Self::ReadModifyWriteRow, "ReadModifyWriteRow"),
        (Self::PingAndWarm, "PingAndWarm"),
        (Self::CreateTable, "CreateTable"),
        (Self::ListTables, "ListTables"),
        (Self::GetTable, "GetTable"),
        (Self::DeleteTable, "DeleteTable"),
        (Self::UpdateTable, "UpdateTable"),
        (Self::ModifyColumnFamilies, "ModifyColumnFamilies"),
        (Self::DropRowRange, "DropRowRange"),
        (Self::GenerateConsistencyToken, "GenerateConsistencyToken"),
        (Self::CheckConsistency, "CheckConsistency"),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(method, _)| method)
    }
}

/// How a Bigtable is to fail: which calls, how often, and with what.
///
/// Does a service survive that Bigtable is unavailable at its third read?
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), keyderive::Error> {
/// # use keyderive::RowKey;
/// use keyderive::embedded::{Bigtable, Fault, Faults, Method};
///
/// # #[derive(keyderive::RowKey)] struct UserKey { id: u64 }
/// # type User = std::collections::BTreeMap<String, u64>;
/// # async fn visits(users: &keyderive::Table<UserKey, User>) -> Result<u64, keyderive::Error> {
/// #     let mut rows = users.scan(UserKey::scan()).stream();
/// #     let mut visits = 0;
/// #     while let Some(row) = rows.next().await { visits += row?.1["visits"]; }
/// #     Ok(visits)
/// # }
/// let bigtable = Bigtable::in_memory();
/// let users = bigtable.client().table::<UserKey, User>("users");
/// users.create_if_absent().await?;
/// users.put(&UserKey { id: 7 }, &User::from([("visits".to_owned(), 1)])).await?;
///
/// let faults = Faults::seeded(1).fail_nth(Method::ReadRows, 3, Fault::unavailable());
/// let faulty = bigtable.with_faults(faults);
/// let users = faulty.client().table("users");
/// for _ in 0..3 {
///     assert_eq!(visits(&users).await?, 1);
/// }
/// // Once more than was asked: the client has tried again.
/// assert_eq!(faulty.calls(Method::ReadRows), 4);
/// # Ok(())
/// # }
/// ```
///
/// Chances follow from the seed, and those of a call from its number among the calls of its method besides. The same
/// calls in the same order meet the same faults, and calls of one method change nothing for another. Numbers count
/// from 1, and a call that the client tries again has a new one.
///
/// A chance is a number from 0, never, to 1, always; one that is no number counts as 0.
#[derive(Clone, Debug)]
#[must_use = "faults do nothing until a Bigtable has them"]
pub struct Faults {
    seed: u64,
    rules: Vec<Rule>,
    breaks: Chances,
}

#[derive(Clone, Debug)]
struct Rule {
    method: Method,
    when: When,
    effect: Effect,
}

#[derive(Clone, Copy, Debug)]
enum When {
    Nth(u64),
    AtRandom(f64),
}

#[derive(Clone, Debug)]
enum Effect {
    Fail(Fault),
    Delay(Duration),
}

/// The chances of what can be wrong with a stream.
#[derive(Clone, Copy, Debug, Default)]
struct Chances {
    /// That it ends before a message.
    cut: f64,
    /// That a row comes in pieces.
    split: f64,
}

impl Faults {
    /// No faults yet, with a seed for those that are added.
    pub fn seeded(seed: u64) -> Self {
        Self { seed, rules: Vec::new(), breaks: Chances::default() }
    }

    /// Has calls fail with this chance.
    ///
    /// Of several faults for one call, the one that was added first is taken.
    pub fn fail(self, method: Method, chance: f64, fault: Fault) -> Self {
        self.rule(method, When::AtRandom(chance), Effect::Fail(fault))
    }

    /// Has the call with this number fail: 1 is the first.
    pub fn fail_nth(self, method: Method, number: u64, fault: Fault) -> Self {
        self.rule(method, When::Nth(number), Effect::Fail(fault))
    }

    /// Has calls wait for so long with this chance, before they are carried out or fail.
    ///
    /// They wait by tokio's clock, which a test may pause. Of several delays for one call, the sum is waited.
    pub fn delay(self, method: Method, chance: f64, delay: Duration) -> Self {
        self.rule(method, When::AtRandom(chance), Effect::Delay(delay))
    }

    /// Has the call with this number wait for so long, as [`delay`](Self::delay): 1 is the first.
    pub fn delay_nth(self, method: Method, number: u64, delay: Duration) -> Self {
        self.rule(method, When::Nth(number), Effect::Delay(delay))
    }

    /// Has streams break with this chance before each of their messages, and before their end, as unavailable.
    ///
    /// The streams are the answers to `ReadRows`, `MutateRows` and `SampleRowKeys`. A client that tries again goes on
    /// after what came; it gives up where too many attempts bring nothing, so that a chance near 1 is one of failure.
    pub fn cut_streams(self, chance: f64) -> Self {
        Self { breaks: Chances { cut: chance, ..self.breaks }, ..self }
    }

    /// Has rows come in pieces with this chance, as the protocol allows: over several messages, with values in several
    /// parts, and at times taken back in the middle and sent anew.
    ///
    /// A program that reads them with a client sees no difference. Together with [`cut_streams`](Self::cut_streams)
    /// streams break in the middle of rows.
    pub fn split_rows(self, chance: f64) -> Self {
        Self { breaks: Chances { split: chance, ..self.breaks }, ..self }
    }

    fn rule(mut self, method: Method, when: When, effect: Effect) -> Self {
        self.rules.push(Rule { method, when, effect });
        self
    }
}

impl Bigtable {
    /// The same tables, behind a server with these faults. Clients of the Bigtable without them stay as they are.
    ///
    /// Faults that it had are replaced, and [`calls`](Self::calls) counts from 0. See [`Faults`] for an example.
    #[must_use]
    pub fn with_faults(&self, faults: Faults) -> Self {
        let injector = Injector::new(faults);
        Self { faults: Some(injector.into()), ..self.clone() }
    }

    /// How many calls of this method have come, those included that failed. They are counted where there are faults,
    /// or [`Faults`] without any; 0 of all others.
    #[must_use]
    pub fn calls(&self, method: Method) -> u64 {
        self.faults.as_ref().map_or(0, |injector| injector.calls(method))
    }
}
