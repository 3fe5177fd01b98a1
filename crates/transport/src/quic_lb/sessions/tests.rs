use super::*;
use std::sync::mpsc::{self, Receiver};

fn secrets(byte: u8) -> Secrets {
    let secret = format!("{byte:02x}").repeat(32);
    let text = format!("overlap 1\nreset {secret}\nepoch 0 from 0 {secret}");
    Secrets::new(text.as_bytes()).unwrap()
}

fn server(capacity: usize) -> (Sessions, Receiver<Vec<u8>>) {
    let (publish, messages) = mpsc::channel();
    let publish = move |message| publish.send(message).unwrap();
    (Sessions::new(&secrets(1), capacity, publish), messages)
}

fn id(number: u8) -> Vec<u8> {
    vec![number; 32]
}

#[test]
fn a_session_of_one_server_is_used_once_at_another() {
    let (a, from_a) = server(10);
    let (b, from_b) = server(10);
    assert!(a.can_cache() && a.put(id(1), b"session".to_vec()));
    let issued = from_a.recv().unwrap();
    assert!(b.receive(&issued));
    assert_eq!(b.get(&id(1)).unwrap(), b"session");
    assert_eq!(b.take(&id(1)).unwrap(), b"session");
    assert_eq!(b.take(&id(1)), None, "a replay at the same server");
    assert!(a.receive(&from_b.recv().unwrap()));
    assert_eq!(a.take(&id(1)), None, "a replay where the news has come");
    assert!(b.receive(&issued));
    assert_eq!(b.take(&id(1)), None, "a replay of the message");
}

#[test]
fn news_of_its_use_may_come_before_the_session() {
    let (a, from_a) = server(10);
    let (b, _from_b) = server(10);
    assert!(a.put(id(1), b"session".to_vec()));
    a.take(&id(1)).unwrap();
    let (issued, used) = (from_a.recv().unwrap(), from_a.recv().unwrap());
    assert!(b.receive(&used) && b.receive(&issued));
    assert_eq!(b.take(&id(1)), None);
}

#[test]
fn messages_of_strangers_are_none() {
    let (a, from_a) = server(10);
    a.put(id(1), b"session".to_vec());
    let issued = from_a.recv().unwrap();
    let stranger = Sessions::new(&secrets(2), 10, |_| {});
    assert!(!stranger.receive(&issued));
    assert!(!a.receive(b""));
    assert!(!a.receive(&issued[1..]));
    let short = Sealing::new(secrets(1), Purpose::Session).seal(b"short");
    assert!(!a.receive(&short.unwrap()));
}

#[test]
fn only_so_many_are_remembered_the_latest() {
    let (a, _messages) = server(3);
    for number in 0..5 {
        assert!(a.put(id(number), vec![number]));
    }
    assert_eq!(a.take(&id(1)), None);
    assert_eq!(a.take(&id(2)), Some(vec![2]));
    assert_eq!(a.take(&id(4)), Some(vec![4]));
    let store = a.store();
    assert_eq!((store.sessions.len(), store.order.len()), (3, 3));
}

#[test]
fn what_would_take_too_much_memory_is_not_kept() {
    let (a, messages) = server(3);
    assert!(!a.put(id(1), vec![0; MAX_SESSION + 1]));
    assert!(!a.put(vec![0; 31], b"session".to_vec()));
    assert!(!a.put(id(1), Vec::new()));
    assert!(messages.try_recv().is_err());
    assert_eq!(a.take(b"short"), None);
    assert!(!server(0).0.can_cache());
}
