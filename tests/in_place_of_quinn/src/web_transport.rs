//! wtransport's own client and server.

use crate::support::{ANY, limited, noise};
use crate::witness;
use wtransport::{ClientConfig, Endpoint, Identity, ServerConfig};

#[tokio::test]
async fn wtransports_client_reads_back_what_it_sends_to_its_server() {
    limited(async {
        let identity = Identity::self_signed(["localhost", "127.0.0.1"]).unwrap();
        let hash = identity.certificate_chain().as_slice()[0].hash();
        let config = ServerConfig::builder()
            .with_bind_address(ANY)
            .with_identity(identity)
            .build();
        let server = Endpoint::server(config).unwrap();
        let address = server.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            let session = server.accept().await.await.unwrap();
            let connection = session.accept().await.unwrap();
            let (mut send, mut recv) = connection.accept_bi().await.unwrap();
            let mut question = vec![0; LEN];
            recv.read_exact(&mut question).await.unwrap();
            send.write_all(&question).await.unwrap();
            send.finish().await.unwrap();
            connection.closed().await
        });
        let config = ClientConfig::builder()
            .with_bind_address(ANY)
            .with_server_certificate_hashes([hash])
            .build();
        let client = Endpoint::client(config).unwrap();
        let connection = client.connect(format!("https://{address}")).await.unwrap();
        // Not a method of quinn's.
        connection
            .quic_connection()
            .set_congestion("paceline")
            .unwrap();
        let (mut send, mut recv) = connection.open_bi().await.unwrap().await.unwrap();
        send.write_all(&noise(LEN)).await.unwrap();
        send.finish().await.unwrap();
        let mut answer = vec![0; LEN];
        recv.read_exact(&mut answer).await.unwrap();
        assert!(answer == noise(LEN), "other bytes came back");
        let snapshot = connection.quic_connection().congestion();
        assert_eq!(snapshot.algorithm, "paceline");
        connection.close(0_u32.into(), b"done");
        serving.await.unwrap();
        witness::assert_has_client_of(address);
    })
    .await;
}

const LEN: usize = 100_000;
