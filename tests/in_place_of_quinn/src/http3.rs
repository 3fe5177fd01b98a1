//! h3-quinn at both ends.

use crate::support::{ANY, Certificate, MEGABYTE, NAME, limited, noise};
use crate::witness;
use bytes::{Buf, Bytes};
use h3::{client, server};
use h3_datagram::datagram_handler::HandleDatagramsExt;
use http::{Request, Response};
use quinn::Endpoint;
use std::future::poll_fn;

#[tokio::test]
async fn h3_quinn_fetches_from_h3_quinn() {
    limited(async {
        let certificate = Certificate::new();
        let endpoint = Endpoint::server(certificate.server(&[ALPN]), ANY).unwrap();
        let address = endpoint.local_addr().unwrap();
        let serving = tokio::spawn(serve(endpoint));
        let mut quic = Endpoint::client(ANY).unwrap();
        quic.set_default_client_config(certificate.client(&[ALPN]));
        let connection = quic.connect(address, NAME).unwrap().await.unwrap();
        let connection = h3_quinn::Connection::new(connection);
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
        let (closed, body) = tokio::join!(poll_fn(|cx| connection.poll_close(cx)), get);
        assert!(closed.is_h3_no_error(), "{closed}");
        assert!(body == noise(MEGABYTE), "another body came");
        serving.await.unwrap();
        witness::assert_has_client_of(address);
    })
    .await;
}

/// Answers the requests of one connection.
pub(crate) async fn serve(endpoint: Endpoint) {
    let connection = endpoint.accept().await.unwrap().await.unwrap();
    let connection = h3_quinn::Connection::new(connection);
    let mut requests = server::Connection::<_, Bytes>::new(connection)
        .await
        .unwrap();
    while let Ok(Some(request)) = requests.accept().await {
        let (_, mut stream) = request.resolve_request().await.unwrap();
        stream.send_response(Response::new(())).await.unwrap();
        stream.send_data(noise(MEGABYTE).into()).await.unwrap();
        stream.finish().await.unwrap();
    }
}

/// The futures of its datagrams have quinn's names, too.
#[tokio::test]
async fn a_datagram_of_h3_quinns_arrives() {
    limited(async {
        let certificate = Certificate::new();
        let ends =
            crate::support::connected(certificate.client(&[ALPN]), certificate.server(&[ALPN]));
        let (connected, accepted, _endpoints) = ends.await;
        let mut building = client::builder();
        building.enable_datagram(true);
        let (client, mut requests) = building
            .build::<_, _, Bytes>(h3_quinn::Connection::new(connected))
            .await
            .unwrap();
        let mut building = server::builder();
        building.enable_datagram(true);
        let mut server = building
            .build::<_, Bytes>(h3_quinn::Connection::new(accepted))
            .await
            .unwrap();
        let ask = async {
            let request = Request::get("https://localhost/").body(()).unwrap();
            let mut stream = requests.send_request(request).await.unwrap();
            stream.finish().await.unwrap();
            let mut sender = client.get_datagram_sender(stream.id());
            sender.send_datagram(Bytes::from_static(b"news")).unwrap();
            stream
        };
        let answer = async {
            let request = server.accept().await.unwrap().unwrap();
            let (_, stream) = request.resolve_request().await.unwrap();
            let mut datagrams = server.get_datagram_reader();
            let datagram = datagrams.read_datagram().await.unwrap();
            assert_eq!(datagram.stream_id(), stream.id());
            assert_eq!(&datagram.payload()[..], b"news");
            stream
        };
        let _streams = tokio::join!(ask, answer);
    })
    .await;
}

pub(crate) const ALPN: &[u8] = b"h3";
