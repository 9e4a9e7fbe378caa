use keyderive::embedded::Bigtable;
#[test]
#[ignore]
fn trial() {
    let rt = tokio::runtime::Runtime::new().unwrap();
    rt.block_on(async {
        let bigtable = Bigtable::in_memory();
        crate::tables::create(&bigtable.client()).await.unwrap();
        std::fs::create_dir_all("/tmp/h/read/trial").unwrap();
        std::fs::write("/tmp/h/read/trial/layouts.json", crate::tables::layouts()).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:18086").await.unwrap();
        bigtable.serve(listener, std::future::pending()).await.unwrap();
    });
}
