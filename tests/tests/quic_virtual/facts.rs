//! What congestion control learns of packets agrees with what the network has done with them,
//! whatever that is.

mod books;

use books::Books;
use e2e::{choose, seed};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use transport::testing::{ConnectionPlan, Datagram, EndId, Ends, LinkId, Load, World};
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
        self.each(|books| books.is_confirmed = true);
    }

    fn each(&self, mut change: impl FnMut(&mut Books)) {
        self.books
            .iter()
            .for_each(|books| change(&mut books.lock()));
    }

    fn run_until_received(&mut self, end: EndId, bytes: u64) {
        let limit = Duration::from_secs(600);
        let is_there = self.world.run_until_received(end, Bytes::new(bytes), limit);
        assert!(is_there, "{}", self.world.received(end));
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

/// One with a rate at which quinn-proto's receiver can tell late packets from duplicates.
fn link(rng: &mut Rng, loses: bool) -> String {
    let mut text = format!("delay {}ms", 5 + rng.below(60));
    if rng.below(2) == 0 {
        text += &format!(" {}ms", 1 + rng.below(15));
    }
    text += &format!(" rate {}kbit", 1_000 + rng.below(20_000));
    text += match rng.below(3) {
        0 => " aqm codel ecn",
        1 => " queue 1bdp",
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

fn controller(rng: &mut Rng) -> &'static str {
    ["new_reno", "cubic", "bbr3", "bbr1", "copa"][rng.below(5) as usize]
}

/// What happens to a connection in its middle.
fn disturb(run: &mut Run, rng: &mut Rng) {
    let end = [run.ends.client, run.ends.server][rng.below(2) as usize];
    match rng.below(4) {
        0 => run
            .world
            .proto(end, quinn_proto::Connection::force_key_update),
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
            run.world
                .change_link(link, &text.parse().expect("a link"), MS * 100);
        }
        _ => {}
    }
}

#[test]
fn what_is_known_of_each_packet_is_what_the_network_did() {
    let mut sums = [0; 7];
    for seed in 0..40 {
        let seed = seed::choose(seed, "facts");
        let mut rng = Rng::new(seed);
        let are_acks_lost = rng.below(2) == 0;
        let (there, back) = (link(&mut rng, true), link(&mut rng, are_acks_lost));
        let (cc, upload, download) = (controller(&mut rng), 1_000_000, rng.below(2) * 200_000);
        eprintln!("seed {seed}: {there} / {back}, {cc}, download {download}");
        let mut run = Run::new(seed, [&there, &back], cc);
        run.connect();
        run.world.send(run.ends.client, Load::Bytes(upload));
        if download > 0 {
            run.world.send(run.ends.server, Load::Bytes(download));
        }
        for _ in 0..6 {
            run.world.run_for(MS * rng.below(400) as u32);
            disturb(&mut run, &mut rng);
        }
        run.run_until_received(run.ends.server, upload);
        run.run_until_received(run.ends.client, download);
        run.world.run_for(Duration::from_secs(20));
        for (books, end) in run.books.iter().zip([run.ends.client, run.ends.server]) {
            let books = books.lock();
            books.assert_closed(None);
            let stats = run.world.stats(end);
            let counts = &books.counts;
            eprintln!(
                "  {counts:?} {} {}",
                books.marked_and_acked(),
                books.marked_and_delivered()
            );
            assert!(counts.marked >= books.marked_and_acked(), "{counts:?}");
            assert!(counts.marked <= books.marked_and_delivered(), "{counts:?}");
            assert_eq!(stats.ecn.ce_marked, counts.marked);
            let c = counts;
            for (sum, count) in sums.iter_mut().zip([
                c.sent,
                c.acked,
                c.lost,
                c.late,
                c.discarded,
                c.marked,
                c.compared,
            ]) {
                *sum += count;
            }
        }
    }
    eprintln!("{sums:?}");
}

fn _unused(_: SocketAddr) {}
