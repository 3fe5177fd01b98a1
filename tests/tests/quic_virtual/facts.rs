//! What congestion control learns of packets agrees with what the network has done with them,
//! whatever that is.

mod books;

use books::{Books, Counts};
use e2e::{choose, seed};
use paceline::testing::{ConnectionPlan, Datagram, EndId, Ends, LinkId, Load, World};
use quinn_proto::ConnectionError;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use units::{Bytes, Rng};

const MS: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Default)]
struct Shared(Arc<Mutex<Books>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Books> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A connection with books on what each end sends.
struct Run {
    world: World,
    ends: Ends,
    links: [LinkId; 2],
    /// The client's and the server's.
    books: [Shared; 2],
}

impl Run {
    fn new(seed: u64, links: [&str; 2], cc: &str) -> Self {
        let mut world = World::new(seed).unencrypted();
        let [there, back] = links.map(|link| link.parse().expect("a link"));
        let (there, back) = world.add_links(&there, &back).expect("links with a delay");
        let mut plan = ConnectionPlan {
            there: vec![there],
            back: vec![back],
            ..ConnectionPlan::default()
        };
        plan.client.congestion(choose(cc));
        plan.server.congestion(choose(cc));
        let ends = world.add_connection(&plan);
        let books = [Shared::default(), Shared::default()];
        let [client, server] = &books;
        keep_books(&mut world, ends.client, client, server);
        keep_books(&mut world, ends.server, server, client);
        Self {
            world,
            ends,
            links: [there, back],
            books,
        }
    }

    fn connect(&mut self) {
        let limit = Duration::from_secs(60);
        let connected = self.world.run_until_connected(self.ends, limit);
        connected.expect("a handshake");
        self.world.run_for(MS * 500);
        for books in &self.books {
            books.lock().confirmed_at = Some(self.world.now());
        }
    }

    fn move_client(&mut self, address: usize) {
        let address = ADDRESSES[address].parse().expect("an address");
        self.world.move_client(self.ends, address);
        self.books[1].lock().has_moved = true;
    }

    /// Whether all of it has arrived; it has unless the connection timed out after a move.
    fn run_until_received(&mut self, end: EndId, bytes: u64) -> bool {
        let limit = Duration::from_secs(600);
        let is_there = self.world.run_until_received(end, Bytes::new(bytes), limit);
        let is_over = self.world.error(end) == Some(&ConnectionError::TimedOut);
        let has_stalled = is_over && self.books[1].lock().has_moved;
        assert!(is_there || has_stalled, "{}", self.world.received(end));
        is_there
    }
}

/// `own` on what `end` sends, and the arrivals there in those of the other.
fn keep_books(world: &mut World, end: EndId, own: &Shared, others: &Shared) {
    let books = own.clone();
    world.watch_facts(end, move |now, fact| books.lock().on_fact(now, fact));
    let (own, others) = (own.clone(), others.clone());
    world.watch_datagrams(end, move |datagram| match datagram {
        Datagram::Leaves { at, payload } => own.lock().on_leaves(at, payload),
        Datagram::Arrives { at, payload, ecn } => others.lock().on_arrives(at, payload, ecn),
    });
}

/// A path, drawn.
struct Draw {
    links: [String; 2],
    cc: &'static str,
    download: u64,
    /// Nothing happens to the path, and data goes one way, so that every packet which comes late is
    /// known to have: quinn-proto acknowledges nothing while its window keeps its own data back.
    is_calm: bool,
}

impl Draw {
    fn new(rng: &mut Rng) -> Self {
        let is_calm = rng.below(3) == 0;
        let loses_acks = rng.below(2) == 0;
        let controllers = ["new_reno", "cubic", "bbr3", "bbr1", "copa"];
        Self {
            links: [link(rng, true), link(rng, loses_acks)],
            cc: controllers[rng.below(5) as usize],
            download: u64::from(!is_calm) * rng.below(2) * 200_000,
            is_calm,
        }
    }
}

/// Packets are fewer per millisecond than quinn-proto's receiver tells apart from duplicates.
fn link(rng: &mut Rng, loses: bool) -> String {
    let mut text = format!("delay {}ms", 5 + rng.below(60));
    if rng.below(2) == 0 {
        text += &format!(" {}ms", 1 + rng.below(15));
    }
    text += &format!(" rate {}kbit", 1_000 + rng.below(20_000));
    text += match rng.below(4) {
        0 => " aqm codel ecn",
        1 => " aqm dualpi2",
        2 => " queue 1bdp",
        _ => " queue 3bdp",
    };
    if loses && rng.below(2) == 0 {
        text += &format!(" loss {}%", 1 + rng.below(8));
    }
    if rng.below(3) == 0 {
        text += &format!(" duplicate {}%", 1 + rng.below(20));
    }
    text
}

/// Something happens to a connection.
fn disturb(run: &mut Run, rng: &mut Rng) {
    let Ends { client, server } = run.ends;
    let end = [client, server][rng.below(2) as usize];
    match rng.below(7) {
        0 => {
            let update = quinn_proto::Connection::force_key_update;
            run.world.proto(end, update);
        }
        1 => {
            let most = 1_210 + rng.below(200) as usize;
            run.world.tamper(end, move |datagram| {
                let fits = datagram.len() <= most;
                fits.then_some(datagram).into_iter().collect()
            });
        }
        2 => {
            let link = run.links[rng.below(2) as usize];
            let text = format!("delay {}ms rate 5mbit queue 100p", 5 + rng.below(100));
            let spec = text.parse().expect("a link");
            run.world.change_link(link, &spec, MS * 100);
        }
        3 => run.move_client(rng.below(3) as usize),
        4 => {
            // The server answers nothing until it gives up the new path.
            run.move_client(1 + rng.below(2) as usize);
            run.world.tamper(server, |_| Vec::new());
            run.world.run_for(MS * rng.below(3_000) as u32);
            run.world.tamper(server, |datagram| vec![datagram]);
        }
        _ => {}
    }
}

/// A connection over a drawn path that is disturbed, until nothing is under way any more. `None` if
/// a move stopped it, see "Limits of quinn-proto" in `docs/transport.md`.
fn transfer(seed: u64) -> Option<[Counts; 2]> {
    const UPLOAD: u64 = 1_500_000;
    let mut rng = Rng::new(seed);
    let draw = Draw::new(&mut rng);
    let [there, back] = &draw.links;
    let mut run = Run::new(seed, [there, back], draw.cc);
    run.connect();
    run.world.send(run.ends.client, Load::Bytes(UPLOAD));
    if draw.download > 0 {
        run.world.send(run.ends.server, Load::Bytes(draw.download));
    }
    for _ in 0..6 {
        run.world.run_for(MS * rng.below(400) as u32);
        if !draw.is_calm {
            disturb(&mut run, &mut rng);
        }
    }
    let ends = [run.ends.client, run.ends.server];
    if !run.run_until_received(ends[1], UPLOAD) || !run.run_until_received(ends[0], draw.download) {
        return None;
    }
    for end in ends {
        // Its ACK has the largest number of all, and with it the last count of marks.
        run.world.run_for(Duration::from_secs(10));
        run.world.send(end, Load::Bytes(1));
    }
    run.world.run_for(Duration::from_secs(20));
    Some([0, 1].map(|index| {
        let [books, peers] = [&run.books[index], &run.books[1 - index]].map(Shared::lock);
        books.assert_closed();
        if draw.is_calm && index == 0 {
            // Packets declared lost are remembered for three probe timeouts.
            let round_trip = run.world.stats(ends[index]).min_rtt;
            books.assert_late_are_known(round_trip.expect("a sample came"), &peers);
        }
        let counts = books.counts;
        if !books.has_moved {
            let (least, most) = (books.marked_and_acked(), books.marked_and_delivered());
            assert!(
                (least..=most).contains(&counts.marked),
                "{least} {counts:?} {most}"
            );
        }
        assert_eq!(run.world.stats(ends[index]).ecn.ce_marked, counts.marked);
        counts
    }))
}

#[test]
fn what_is_known_of_each_packet_is_what_the_network_did() {
    let mut sum = Counts::default();
    let mut stopped = 0;
    for number in 1..=SEEDS {
        match transfer(seed::choose(number, "facts")) {
            Some(counts) => counts.into_iter().for_each(|counts| sum += counts),
            None => stopped += 1,
        }
    }
    assert!(stopped <= SEEDS / 50, "{stopped}");
    let all_kinds = [
        sum.acked,
        sum.lost,
        sum.late,
        sum.discarded,
        sum.marked,
        sum.compared,
    ];
    assert!(all_kinds.iter().all(|count| *count > SEEDS), "{sum:?}");
}

const SEEDS: u64 = 150;

/// Where the client begins, another port there, and another host.
const ADDRESSES: [&str; 3] = ["192.0.2.1:50000", "192.0.2.1:50001", "198.51.100.7:50000"];
