//! HTTP/3 between this transport's client and a server on h3-quinn.

use crate::support::{ANY, NAME, certificate, limited, noise, quinn_server};
use bytes::{Buf, Bytes};
use h3::{client, server};
use http::{Request, Response};
use paceline::{Endpoint, h3 as ours, tls};

#[tokio::test]
async fn our_client_fetches_from_a_server_on_h3_quinn() {
    limited(async {
        let certificate = certificate();
        let endpoint = quinn_server(&certificate, &[ours::ALPN]);
        let address = endpoint.local_addr().unwrap();
        let serving = tokio::spawn(serve(endpoint));
        let config = tls::client_with_fingerprint(certificate.fingerprint);
        let config = config.alpn(&[ours::ALPN]).config().unwrap();
        let quic = Endpoint::client(ANY).unwrap();
        let connecting = quic.connect_with(config, address, NAME).unwrap();
        let connection = ours::Connection::new(connecting.await.unwrap());
        let (mut connection, mut requests) = client::new(connection).await.unwrap();
        let get = async {
            let request = Request::get("https://localhost/").body(()).unwrap();
            let mut stream = requests.send_request(request).await.unwrap();
            stream.finish().await.unwrap();
            assert_eq!(stream.recv_response().await.unwrap().status(), 200);
            let mut body = Vec::new();
            while let Some(mut chunk) = stream.recv_data().await.unwrap() {
                body.extend(chunk.copy_to_bytes(chunk.remaining()));
            }
            // The last of these closes the connection.
            drop(requests);
            body
        };
        let (closed, body) = tokio::join!(connection.wait_idle(), get);
        assert!(closed.is_h3_no_error(), "{closed}");
        assert!(body == noise(BODY), "another body came");
        serving.await.unwrap();
    })
    .await;
}

/// Answers the requests of one connection.
async fn serve(endpoint: quinn::Endpoint) {
    let connection = endpoint.accept().await.unwrap().await.unwrap();
    let connection = h3_quinn::Connection::new(connection);
    let mut requests = server::Connection::<_, Bytes>::new(connection)
        .await
        .unwrap();
    while let Ok(Some(request)) = requests.accept().await {
        let (_, mut stream) = request.resolve_request().await.unwrap();
        stream.send_response(Response::new(())).await.unwrap();
        stream.send_data(noise(BODY).into()).await.unwrap();
        stream.finish().await.unwrap();
    }
}

const BODY: usize = 100_000;
