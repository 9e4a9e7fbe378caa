//! Tables that change while a query runs.

use keyderive_embedded::{OnOpen, Query, QueryEngine, QueryTables};
use keyderive_proto::admin::ModifyColumnFamiliesRequest;
use keyderive_proto::admin::modify_column_families_request::Modification;
use keyderive_proto::admin::modify_column_families_request::modification::Mod;
use tokio::runtime::Handle;

use super::*;

/// Creates a family after the columns of a query are known, and before its rows are, each time with another name.
struct Growing {
    tables: Bigtable,
    runtime: Handle,
}

impl QueryEngine for Growing {
    fn open(
        &self,
        query: &Query,
        parameters: &BTreeMap<String, Value>,
        tables: &QueryTables<'_>,
        on_open: OnOpen<'_>,
    ) -> Result<(), Status> {
        Engine::default().open(query, parameters, tables, &mut |columns, run| {
            let id = format!("f{}", columns.len());
            on_open(columns, &mut |row| {
                let modification = Modification {
                    id: id.clone(),
                    r#mod: Some(Mod::Create(ColumnFamily::default())),
                    ..Default::default()
                };
                let request = ModifyColumnFamiliesRequest {
                    name: format!("{INSTANCE}/tables/t"),
                    modifications: vec![modification],
                    ..Default::default()
                };
                let mut client = RawClient::new(self.tables.clone());
                self.runtime.block_on(client.modify_column_families(request))?;
                run(row)
            })
        })
    }
}

#[tokio::test]
async fn rows_fit_the_columns_while_a_family_is_created() {
    let mut database = Database::new();
    database.create("t", &["f"], None).await;
    database.set("t", "a", "f:q", 1, "one").await;
    database.set("t", "b", "f:q", 1, "two").await;
    let growing = Growing { tables: database.bigtable.clone(), runtime: Handle::current() };
    database.bigtable = database.bigtable.with_query_engine(Arc::new(growing));
    for columns in 2..5 {
        let answer = database.run("SELECT * FROM t", &[]).await.unwrap();
        assert_eq!((answer.columns.len(), answer.rows.len()), (columns, 2));
        assert!(answer.rows[0].starts_with("a, {q: one}"), "{answer:?}");
        assert!(answer.rows[1].starts_with("b, {q: two}"), "{answer:?}");
    }
}
