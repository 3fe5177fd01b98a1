//! quiche as an endpoint of the interop runner, with HTTP/0.9. It marks nothing with ECN, and
//! neither chooses TLS 1.3's cipher nor asks for new keys, so its clients have no such cases.

use interop_endpoints::{HQ, LOST, MIDST, NAME, Result, Task, path, run};
use quiche::{Config, Connection, ConnectionId, Header, RecvInfo, Type};
use std::collections::HashMap;
use std::fs::File;
use std::future::pending;
use std::io::{BufWriter, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout};

fn main() -> ExitCode {
    run(&CLIENT, &SERVER, fetch, serve)
}

/// For either side.
fn config(task: &Task) -> Result<Config> {
    let mut config = Config::new(match task.case.as_str() {
        "versionnegotiation" => NO_VERSION,
        _ => quiche::PROTOCOL_VERSION,
    })?;
    let window = u64::from(task.window.unwrap_or(10_000_000));
    config.set_application_protos(&[HQ])?;
    config.set_max_idle_timeout(30_000);
    config.set_max_recv_udp_payload_size(DATAGRAM);
    config.set_max_send_udp_payload_size(1_350);
    // At 30 % loss most of a handshake's time is that of its probes.
    config.set_initial_rtt(Duration::from_millis(100));
    config.set_initial_max_data(window);
    config.set_max_connection_window(window);
    config.set_max_stream_window(window);
    config.set_initial_max_stream_data_bidi_local(window);
    config.set_initial_max_stream_data_bidi_remote(window);
    config.set_initial_max_streams_bidi(100);
    config.set_active_connection_id_limit(4);
    config.enable_dgram(true, DATAGRAMS, DATAGRAMS);
    config.log_keys();
    Ok(config)
}

async fn fetch(task: Task) -> Result<()> {
    let mut config = config(&task)?;
    let certificate = task.certs.join("cert.pem");
    let certificate = certificate.to_str().ok_or("CERTS is no text")?;
    config.load_verify_locations_from_file(certificate)?;
    config.verify_peer(true);
    if task.case == "zerortt" {
        config.enable_early_data();
    }
    let mut session = None;
    for requests in task.by_connection() {
        session = Fetching::begin(&task, &mut config, session)
            .await?
            .all(requests)
            .await?;
    }
    Ok(())
}

/// A client's connection.
struct Fetching<'a> {
    task: &'a Task,
    connection: Connection,
    /// Two after the client has moved.
    sockets: Vec<UdpSocket>,
    /// By the number of the stream.
    files: HashMap<u64, BufWriter<File>>,
    arrived: u64,
    done: usize,
    /// When the next file was asked for by datagram.
    asked: Option<Instant>,
}

impl<'a> Fetching<'a> {
    async fn begin(task: &'a Task, config: &mut Config, session: Option<Vec<u8>>) -> Result<Self> {
        let server = task.server()?;
        let socket = UdpSocket::bind(any(server)).await?;
        let (id, local) = (random::<16>()?, socket.local_addr()?);
        let id = ConnectionId::from_ref(&id);
        let mut connection = quiche::connect(Some(NAME), &id, local, server, config)?;
        log_keys(&mut connection)?;
        if let Some(session) = session {
            connection.set_session(&session)?;
        }
        Ok(Self {
            task,
            connection,
            sockets: vec![socket],
            files: HashMap::new(),
            arrived: 0,
            done: 0,
            asked: None,
        })
    }

    /// Fetches and closes; the session that the next connection can resume.
    async fn all(mut self, urls: &[String]) -> Result<Option<Vec<u8>>> {
        let mut waiting = urls.iter();
        let mut next = 0;
        while !self.connection.is_closed() {
            self.send().await?;
            let is_early = self.connection.is_in_early_data();
            if self.task.case == "datagrams" {
                self.ask_by_datagram(urls).await?;
            } else if self.connection.is_established() || is_early {
                while self.connection.peer_streams_left_bidi() > 0
                    && let Some(url) = waiting.next()
                {
                    let request = format!("GET {}\r\n", path(url));
                    self.connection
                        .stream_send(next, request.as_bytes(), true)?;
                    let file = File::create(self.task.download(url)?)?;
                    self.files.insert(next, BufWriter::new(file));
                    next += 4;
                }
                self.send().await?;
            }
            if self.done == urls.len() && !self.awaits_session() {
                // It is refused when the other side has closed.
                let _ = self.connection.close(true, 0, b"");
                self.send().await?;
                break;
            }
            self.receive().await?;
            self.read()?;
            if self.connection.is_established() {
                renew_ids(&mut self.connection, None)?;
                self.migrate().await?;
            }
        }
        if self.done < urls.len() {
            let errors = [self.connection.local_error(), self.connection.peer_error()];
            return Err(format!("{} files have come; errors: {errors:?}", self.done).into());
        }
        Ok(self.connection.session().map(<[u8]>::to_vec))
    }

    fn awaits_session(&self) -> bool {
        let resumes = ["resumption", "zerortt"].contains(&self.task.case.as_str());
        resumes && self.connection.session().is_none() && !self.connection.is_draining()
    }

    async fn send(&mut self) -> Result<()> {
        let mut datagram = [0; DATAGRAM];
        while let Ok((len, to)) = self.connection.send(&mut datagram) {
            let mut sockets = self.sockets.iter();
            let socket = sockets.find(|socket| socket.local_addr().ok() == Some(to.from));
            let socket = socket.ok_or("there is no such socket")?;
            // One that is refused is lost, as it may be anywhere.
            let _ = socket.send_to(&datagram[..len], to.to).await;
        }
        Ok(())
    }

    /// Waits for datagrams or the connection's timer.
    async fn receive(&mut self) -> Result<()> {
        let second = async {
            match self.sockets.get(1) {
                Some(socket) => socket.readable().await,
                None => pending().await,
            }
        };
        let readable = async {
            tokio::select! {
                ready = self.sockets[0].readable() => ready,
                ready = second => ready,
            }
        };
        let mut limit = self.connection.timeout().unwrap_or(IDLE);
        if self.task.case == "datagrams" {
            limit = limit.min(LOST);
        }
        match timeout(limit, readable).await {
            Ok(ready) => ready?,
            Err(_) => self.connection.on_timeout(),
        }
        let mut datagram = [0; DATAGRAM];
        for socket in &self.sockets {
            let to = socket.local_addr()?;
            while let Ok((len, from)) = socket.try_recv_from(&mut datagram) {
                self.arrived += 1;
                // What it cannot read it drops.
                let _ = self
                    .connection
                    .recv(&mut datagram[..len], RecvInfo { from, to });
            }
        }
        Ok(())
    }

    fn read(&mut self) -> Result<()> {
        let mut data = [0; DATAGRAM];
        for stream in self.connection.readable() {
            loop {
                let (len, is_end) = match self.connection.stream_recv(stream, &mut data) {
                    Ok(read) => read,
                    Err(quiche::Error::Done) => break,
                    Err(error) => return Err(error.into()),
                };
                let file = self.files.get_mut(&stream).ok_or("nothing was asked for")?;
                file.write_all(&data[..len])?;
                if is_end {
                    file.flush()?;
                    self.files.remove(&stream);
                    self.done += 1;
                    break;
                }
            }
        }
        Ok(())
    }

    /// One after the other; what is lost is asked for again.
    async fn ask_by_datagram(&mut self, urls: &[String]) -> Result<()> {
        let mut content = [0; DATAGRAM];
        while let Ok(len) = self.connection.dgram_recv(&mut content) {
            let url = urls.get(self.done).ok_or("nothing was asked for")?;
            std::fs::write(self.task.download(url)?, &content[..len])?;
            self.done += 1;
            self.asked = None;
        }
        let is_lost = self.asked.is_none_or(|asked| asked.elapsed() >= LOST);
        if let Some(url) = urls.get(self.done)
            && self.connection.is_established()
            && is_lost
        {
            let request = format!("GET {}\r\n", path(url));
            self.connection.dgram_send(request.as_bytes())?;
            self.asked = Some(Instant::now());
            self.send().await?;
        }
        Ok(())
    }

    /// Goes on from another port in the midst of the transfer, if the case wants it.
    async fn migrate(&mut self) -> Result<()> {
        let is_due = self.task.case == "connectionmigration"
            && self.arrived > MIDST
            && self.sockets.len() == 1
            && self.connection.available_dcids() > 0;
        if is_due {
            let socket = UdpSocket::bind(any(self.task.server()?)).await?;
            self.connection.migrate_source(socket.local_addr()?)?;
            self.sockets.push(socket);
        }
        Ok(())
    }
}

/// A server's connection.
struct Serving {
    connection: Connection,
    requests: HashMap<u64, Vec<u8>>,
    /// What has not been taken yet, by stream.
    answers: HashMap<u64, Vec<u8>>,
}

async fn serve(task: Task) -> Result<()> {
    let mut config = config(&task)?;
    let file = |name: &str| task.certs.join(name).to_string_lossy().into_owned();
    config.load_cert_chain_from_pem_file(&file("cert.pem"))?;
    config.load_priv_key_from_pem_file(&file("priv.key"))?;
    config.enable_early_data();
    let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, task.port)).await?;
    let mut clients = Clients::default();
    loop {
        let timers = clients.by_number.values();
        let timers = timers.filter_map(|client| client.connection.timeout());
        let limit = timers.min().unwrap_or(IDLE);
        // Without a datagram somebody's timer has run out; the others' do nothing.
        if timeout(limit, socket.readable()).await.is_err() {
            for client in clients.by_number.values_mut() {
                client.connection.on_timeout();
            }
        }
        let mut datagram = [0; DATAGRAM];
        for _ in 0..TURN {
            let Ok((len, from)) = socket.try_recv_from(&mut datagram) else {
                break;
            };
            let to = socket.local_addr()?;
            let datagram = &mut datagram[..len];
            match clients.find(&task, &mut config, datagram, RecvInfo { from, to })? {
                Found::Connection(client) => {
                    let _ = client.connection.recv(datagram, RecvInfo { from, to });
                }
                Found::Answer(answer) => {
                    let _ = socket.send_to(&answer, from).await;
                }
                Found::Nothing => {}
            }
        }
        for (number, client) in &mut clients.by_number {
            client.answer(&task, *number)?;
            while let Ok((len, to)) = client.connection.send(&mut datagram) {
                let _ = socket.send_to(&datagram[..len], to.to).await;
            }
        }
        clients
            .by_number
            .retain(|_, client| !client.connection.is_closed());
    }
}

impl Serving {
    fn answer(&mut self, task: &Task, number: u64) -> Result<()> {
        let connection = &mut self.connection;
        if !connection.is_established() && !connection.is_in_early_data() {
            return Ok(());
        }
        if connection.is_established() {
            renew_ids(connection, Some(number))?;
        }
        let mut data = [0; 4_096];
        while let Ok(len) = connection.dgram_recv(&mut data) {
            if let Ok(content) = task.answer(&data[..len]) {
                // A file that is too large is not answered.
                let _ = connection.dgram_send(&content);
            }
        }
        for stream in connection.readable() {
            while let Ok((len, is_end)) = connection.stream_recv(stream, &mut data) {
                let request = self.requests.entry(stream).or_default();
                request.extend(&data[..len]);
                if is_end {
                    match task.answer(request) {
                        Ok(answer) => drop(self.answers.insert(stream, answer)),
                        Err(error) => eprintln!("request: {error}"),
                    }
                    self.requests.remove(&stream);
                    break;
                }
            }
        }
        self.answers.retain(
            |stream, rest| match connection.stream_send(*stream, rest, true) {
                Ok(taken) => {
                    rest.drain(..taken);
                    !rest.is_empty()
                }
                Err(error) => error == quiche::Error::Done,
            },
        );
        Ok(())
    }
}

/// Connection IDs that this server chooses begin with the connection's number.
#[derive(Default)]
struct Clients {
    by_number: HashMap<u64, Serving>,
    /// By the connection ID that a client has chosen.
    numbers: HashMap<Vec<u8>, u64>,
    next: u64,
}

enum Found<'a> {
    Connection(&'a mut Serving),
    Answer(Vec<u8>),
    Nothing,
}

impl Clients {
    /// Whose the datagram is, or what it is answered with.
    fn find(
        &mut self,
        task: &Task,
        config: &mut Config,
        datagram: &mut [u8],
        info: RecvInfo,
    ) -> Result<Found<'_>> {
        let Ok(header) = Header::from_slice(datagram, ID) else {
            return Ok(Found::Nothing);
        };
        let to = header.dcid.as_ref();
        let chosen = (to.len() == ID).then(|| number(to));
        let chosen = chosen.filter(|number| self.by_number.contains_key(number));
        let known = chosen.or_else(|| self.numbers.get(to).copied());
        if let Some(known) = known {
            let client = self.by_number.get_mut(&known);
            return Ok(client.map_or(Found::Nothing, Found::Connection));
        }
        if header.ty != Type::Initial {
            return Ok(Found::Nothing);
        }
        let mut answer = vec![0; 1_200];
        if !quiche::version_is_supported(header.version) {
            let len = quiche::negotiate_version(&header.scid, &header.dcid, &mut answer)?;
            answer.truncate(len);
            return Ok(Found::Answer(answer));
        }
        let token = header.token.as_deref().unwrap_or_default();
        let mut id = id_of(self.next)?;
        let mut original = None;
        if task.case == "retry" {
            let address = address(info.from);
            let Some(first) = token.strip_prefix(&address[..]).filter(|id| !id.is_empty()) else {
                let token = [&address, to].concat();
                let version = header.version;
                let (scid, dcid) = (&header.scid, &header.dcid);
                let id = ConnectionId::from_ref(&id);
                let len = quiche::retry(scid, dcid, &id, &token, version, &mut answer)?;
                answer.truncate(len);
                return Ok(Found::Answer(answer));
            };
            original = Some(ConnectionId::from_ref(first));
            id = to.try_into()?;
        }
        let scid = ConnectionId::from_ref(&id);
        let mut connection = quiche::accept(&scid, original.as_ref(), info.to, info.from, config)?;
        log_keys(&mut connection)?;
        let number = number(&id);
        self.next = self.next.max(number) + 1;
        self.numbers.insert(to.to_vec(), number);
        let client = self.by_number.entry(number);
        Ok(Found::Connection(client.or_insert(Serving {
            connection,
            requests: HashMap::new(),
            answers: HashMap::new(),
        })))
    }
}

/// As many connection IDs as the other side takes, so that it can move.
fn renew_ids(connection: &mut Connection, number: Option<u64>) -> Result<()> {
    while connection.scids_left() > 0 {
        let id = match number {
            Some(number) => id_of(number)?,
            None => random()?,
        };
        let token = u128::from_ne_bytes(random()?);
        connection.new_scid(&ConnectionId::from_ref(&id), token, false)?;
    }
    Ok(())
}

fn log_keys(connection: &mut Connection) -> Result<()> {
    if let Some(file) = std::env::var_os("SSLKEYLOGFILE") {
        let file = File::options().create(true).append(true).open(file)?;
        connection.set_keylog(Box::new(file));
    }
    Ok(())
}

fn id_of(number: u64) -> Result<[u8; ID]> {
    let mut id = random::<ID>()?;
    id[..8].copy_from_slice(&number.to_be_bytes());
    Ok(id)
}

/// Of a connection ID that this server has chosen.
fn number(id: &[u8]) -> u64 {
    id.iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn address(address: SocketAddr) -> Vec<u8> {
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    [&ip.octets()[..], &address.port().to_be_bytes()].concat()
}

fn any(server: SocketAddr) -> SocketAddr {
    match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

const CLIENT: [&str; 5] = [
    "datagrams",
    "resumption",
    "zerortt",
    "versionnegotiation",
    "connectionmigration",
];
const SERVER: [&str; 5] = [
    "datagrams",
    "chacha20",
    "keyupdate",
    "resumption",
    "zerortt",
];
/// A version that is reserved for having none (RFC 9000 §15).
const NO_VERSION: u32 = 0x0A1A_2A3A;
/// Bytes of the connection IDs that a server chooses.
const ID: usize = 16;
/// Bytes of the largest datagram.
const DATAGRAM: usize = 65_527;
/// Most DATAGRAM frames that wait.
const DATAGRAMS: usize = 100;
/// Datagrams that are read before something is sent.
const TURN: usize = 64;
/// How long is waited where there is no timer.
const IDLE: Duration = Duration::from_secs(1);
