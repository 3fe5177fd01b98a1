//! A server: from outside a process, and what runs in it.

use e2e::programs::Running;
use paceline::quic_lb::{CidConfig, ConnectionIds, Secrets, ServerId, Sessions};
use paceline::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use paceline::tls::{self, SelfSigned};
use paceline::{Connection, Endpoint, EndpointConfig, Incoming, RecvStream, SendStream};
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::io::BufRead;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// How a server meets clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Open,
    /// All have to prove their address.
    Retry,
}

/// A server's process.
pub(crate) struct Server {
    process: Running,
    pub(crate) address: SocketAddr,
    /// Where it receives other servers' sessions.
    pub(crate) sessions: SocketAddr,
}

impl Server {
    pub(crate) fn start(number: u8, mode: Mode, certificate: &SelfSigned) -> Self {
        let environment = [
            (NUMBER, number.to_string()),
            (RETRY, (mode == Mode::Retry).to_string()),
            (CERTIFICATE, hex(&certificate.cert)),
            (KEY, hex(certificate.key.secret_der())),
        ];
        let mut process = Running::start_test("quic_lb::server::process", &environment);
        let line = process.line_with("listening ");
        let mut words = line.split_whitespace().rev();
        let mut address = || words.next().unwrap().parse().unwrap();
        Self {
            sessions: address(),
            address: address(),
            process,
        }
    }

    /// Gives it a command and waits until it has done it.
    pub(crate) fn tell(&mut self, command: &str) {
        self.process.type_line(command);
        self.wait_for(&format!("done {command}"));
    }

    pub(crate) fn wait_for(&mut self, line: &str) {
        self.process.line_with(line);
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    /// Waits for its end; its exit code.
    pub(crate) fn end(self) -> Option<i32> {
        self.process.wait().code
    }
}

/// What a server says of itself and of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) server: u8,
    pub(crate) is_validated: bool,
    /// Of what it has received.
    pub(crate) hash: u64,
}

impl Answer {
    pub(crate) const LEN: usize = 10;

    pub(crate) fn read(octets: &[u8; Self::LEN]) -> Self {
        Self {
            server: octets[0],
            is_validated: octets[1] == 1,
            hash: u64::from_be_bytes(octets[2..].try_into().unwrap()),
        }
    }

    fn write(self) -> Vec<u8> {
        let head = [self.server, self.is_validated.into()];
        [&head[..], &self.hash.to_be_bytes()].concat()
    }
}

pub(crate) fn id(number: u8) -> ServerId {
    ServerId::new(&[0x5e, 0x1f, 0, number]).unwrap()
}

/// What servers and balancer agree on.
pub(crate) fn config(codepoint: u8) -> CidConfig {
    CidConfig::encrypted(codepoint, 4, 12, [codepoint + 1; 16]).unwrap()
}

pub(crate) fn hash(octets: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(octets);
    hasher.finish()
}

/// Octets that do not repeat within any packet.
pub(crate) fn noise(seed: u8, len: usize) -> Vec<u8> {
    let mut rng = units::Rng::new(seed.into());
    let mut octets: Vec<u8> = (0..len.div_ceil(8))
        .flat_map(|_| rng.next_u64().to_le_bytes())
        .collect();
    octets.truncate(len);
    octets
}

/// The process itself, when a test has started it; otherwise nothing.
#[test]
fn process() {
    let Ok(number) = std::env::var(NUMBER) else {
        return;
    };
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    runtime.block_on(async {
        let host = Host::start(number.parse().unwrap());
        host.serve(commands()).await;
    });
}

/// Lines of standard input.
fn commands() -> UnboundedReceiver<String> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines().map_while(Result::ok);
        lines.for_each(|line| drop(sender.send(line)));
    });
    receiver
}

struct Host {
    number: u8,
    must_retry: bool,
    endpoint: Endpoint,
    ids: ConnectionIds,
    secrets: Secrets,
    peer: Arc<Mutex<Option<SocketAddr>>>,
}

impl Host {
    fn start(number: u8) -> Self {
        let secrets = Secrets::new(secrets(1).as_bytes()).unwrap();
        let socket = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        let peer = Arc::<Mutex<Option<SocketAddr>>>::default();
        let sessions = {
            let (socket, peer) = (Arc::clone(&socket), Arc::clone(&peer));
            Sessions::new(&secrets, 100, move |message| {
                let peer = peer.lock().unwrap().expect("told before the first client");
                socket.send_to(&message, peer).unwrap();
            })
        };
        let ids = ConnectionIds::new(config(0), id(number)).unwrap();
        let ids = ids.with_lifetime(Duration::from_millis(200));
        let mut config = EndpointConfig::default();
        ids.install(&mut config);
        config.reset_key(secrets.reset_key(&ids));
        let mut server = tls::server(vec![certificate()], key())
            .sessions(Arc::new(sessions.clone()))
            .config()
            .unwrap();
        server.token_key(secrets.token_key());
        let public = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let endpoint = Endpoint::new(config, Some(server), public).unwrap();
        let (address, told) = (endpoint.local_addr(), socket.local_addr());
        say(&format!("listening {} {}", address.unwrap(), told.unwrap()));
        std::thread::spawn(move || {
            let mut buffer = [0; 2_048];
            while let Ok(len) = socket.recv(&mut buffer) {
                assert!(sessions.receive(&buffer[..len]));
                say("received a session");
            }
        });
        Self {
            number,
            must_retry: std::env::var(RETRY).unwrap() == "true",
            endpoint,
            ids,
            secrets,
            peer,
        }
    }

    /// Until it is drained or the test has ended.
    async fn serve(self, mut commands: UnboundedReceiver<String>) {
        loop {
            tokio::select! {
                attempt = self.endpoint.accept() => match attempt {
                    Some(attempt) => self.meet(attempt),
                    None => break,
                },
                command = commands.recv() => match command {
                    Some(command) => self.obey(&command),
                    None => return,
                },
            }
        }
        self.endpoint.wait_idle().await;
        say("idle");
    }

    fn obey(&self, command: &str) {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[..] {
            ["peer", address] => *self.peer.lock().unwrap() = Some(address.parse().unwrap()),
            ["adopt", server_id] => self.ids.adopt(server_id.parse().unwrap()),
            ["drain"] => self.endpoint.drain(),
            ["rotate"] => {
                self.ids.issue(config(1), id(self.number)).unwrap();
                self.secrets.reload(secrets(2).as_bytes()).unwrap();
                assert_eq!(self.secrets.epoch(), 2);
            }
            _ => panic!("no such command: {command}"),
        }
        say(&format!("done {command}"));
    }

    fn meet(&self, attempt: Incoming) {
        if self.must_retry && !attempt.remote_address_validated() {
            attempt.retry().unwrap();
            return;
        }
        let about = Answer {
            server: self.number,
            is_validated: attempt.remote_address_validated(),
            hash: 0,
        };
        let accepted = attempt.accept().unwrap().into_0rtt();
        let (connection, _) = accepted.expect("servers always can");
        tokio::spawn(answer_all(connection, about));
    }
}

async fn answer_all(connection: Connection, about: Answer) {
    while let Ok((send, recv)) = connection.accept_bi().await {
        tokio::spawn(answer(send, recv, about));
    }
}

/// A request is the length of the download, in 8 octets, and an upload.
async fn answer(mut send: SendStream, mut recv: RecvStream, about: Answer) -> Option<()> {
    let request = recv.read_to_end(1 << 20).await.ok()?;
    let (len, upload) = request.split_first_chunk()?;
    let about = Answer {
        hash: hash(upload),
        ..about
    };
    send.write_all(&about.write()).await.ok()?;
    let len = usize::try_from(u64::from_be_bytes(*len)).ok()?;
    send.write_all(&noise(about.server, len)).await.ok()?;
    send.finish().ok()
}

#[expect(clippy::print_stdout, reason = "the test that started this reads it")]
fn say(line: &str) {
    println!("{line}");
}

/// The fleet's: one epoch, or a second one from now on.
fn secrets(epochs: u64) -> String {
    let secret = |byte: u64| format!("{byte:02x}").repeat(32);
    let mut text = format!("overlap 3600\nreset {}\n", secret(9));
    text += &format!("epoch 1 from 0 {}\n", secret(1));
    if epochs == 2 {
        let now = UnixTime::now().as_secs();
        text += &format!("epoch 2 from {now} {}\n", secret(2));
    }
    text
}

fn certificate() -> CertificateDer<'static> {
    octets(CERTIFICATE).into()
}

fn key() -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(octets(KEY)).into()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// What an environment variable says in hexadecimal.
fn octets(name: &str) -> Vec<u8> {
    let text = std::env::var(name).unwrap();
    let pairs = (0..text.len()).step_by(2).map(|at| &text[at..at + 2]);
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

const NUMBER: &str = "FLEET_SERVER";
const RETRY: &str = "FLEET_RETRY";
const CERTIFICATE: &str = "FLEET_CERTIFICATE";
const KEY: &str = "FLEET_KEY";
