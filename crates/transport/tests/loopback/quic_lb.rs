//! A server of a fleet that has several shards.

use crate::support::{
    NAME, any, client_endpoint, hash, noise, receive_all, send_all, server_config, within_a_minute,
};
use paceline::quic_lb::{CidConfig, ConnectionIds};
use paceline::tls::SelfSigned;
use paceline::{Incoming, ShardedServer, TransportConfig};

#[tokio::test]
async fn a_fleets_connection_ids_lead_to_the_right_shard() {
    within_a_minute(async {
        let config = CidConfig::encrypted(0, 4, 12, [3; 16]).unwrap();
        let ids = ConnectionIds::new(config, "00000001".parse().unwrap()).unwrap();
        let certificate = SelfSigned::generate([NAME]).unwrap();
        let transport = TransportConfig::default();
        let server = ShardedServer::builder(server_config(&certificate, &transport), any())
            .shards(2)
            .connection_ids(move |shard| ids.with_shard(shard).unwrap().generator())
            .serve(echo)
            .unwrap();
        for seed in 0..8 {
            let client = client_endpoint(&certificate, &transport);
            let connecting = client.connect(server.local_addr(), NAME).unwrap();
            let connection = connecting.await.unwrap();
            let data = noise(seed, 100_000);
            for _ in 0..2 {
                let (send, recv) = connection.open_bi().await.unwrap();
                let (received, ()) = tokio::join!(receive_all(recv), send_all(send, &data));
                assert_eq!(hash(&received), hash(&data));
                let moved = std::net::UdpSocket::bind(any()).unwrap();
                client.rebind(moved).unwrap();
            }
            connection.close(0_u32.into(), b"");
            client.wait_idle().await;
        }
        for shard in server.stats() {
            assert_eq!(shard.endpoint.misrouted, 0);
        }
        server.join().await;
    })
    .await;
}

async fn echo(attempt: Incoming) {
    let connection = attempt.await.unwrap();
    while let Ok((mut send, mut recv)) = connection.accept_bi().await {
        tokio::io::copy(&mut recv, &mut send).await.unwrap();
        send.finish().unwrap();
    }
}
