//! Requests and their answers on a stream of their own: what an application would wait for.
//!
//! A request is [`LENGTH`] bytes, its answer the same. The client sends one after each interval,
//! whether or not those before have their answers: a path that stalls is asked as often as one that
//! does not. On both sides they go before the payload of streams, so that what they wait for is the
//! path, the transport and the two machines, and not this run's own queue of payload.

use crate::clock;
use crate::counters::{Answer, Answers, Counters};
use crate::wire::DONE;
use paceline::{Connection, RecvStream, SendStream, VarInt};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// Sends requests for ever.
pub(super) async fn ask(connection: Connection, counters: Arc<Counters>, interval: Duration) {
    let Ok((mut send, receive)) = connection.open_bi().await else {
        return;
    };
    let _ = send.set_priority(BEFORE_PAYLOAD);
    let begin = Instant::from_std(clock::now());
    let sent = Mutex::new(VecDeque::new());
    let asking = async {
        for number in 0_u32.. {
            sleep_until(begin + interval * number).await;
            sent.lock().expect(NO_PANIC).push_back(begin.elapsed());
            let request = u128::from(number).to_be_bytes();
            if send.write_all(&request[..LENGTH]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = asking => {}
        () = note_answers(receive, begin, &sent, &counters.answers) => {}
    }
}

async fn note_answers(
    mut receive: RecvStream,
    begin: Instant,
    sent: &Mutex<VecDeque<Duration>>,
    answers: &Answers,
) {
    let mut answer = [0; LENGTH];
    while receive.read_exact(&mut answer).await.is_ok() {
        let Some(at) = sent.lock().expect(NO_PANIC).pop_front() else {
            return;
        };
        let took = begin.elapsed().saturating_sub(at);
        answers.push(Answer { at, took });
    }
}

/// Answers the requests on one stream until there are no more, at most [`MAX_PER_SECOND`].
pub(super) async fn answer(connection: Connection, counters: Arc<Counters>) {
    let Ok((send, receive)) = connection.accept_bi().await else {
        return;
    };
    let mut streams = (send, receive);
    let _ = streams.0.set_priority(BEFORE_PAYLOAD);
    // An error means that the client has gone.
    let _ = echo(&mut streams, &counters).await;
    let _ = streams.0.reset(VarInt::from_u32(DONE));
}

async fn echo(
    (send, receive): &mut (SendStream, RecvStream),
    counters: &Counters,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let begin = Instant::from_std(clock::now());
    let mut request = [0; LENGTH];
    for number in 1_u64.. {
        receive.read_exact(&mut request).await?;
        counters.first_byte.notify_one();
        while number > MAX_PER_SECOND * (begin.elapsed().as_secs() + 1) {
            sleep(POLL_INTERVAL).await;
        }
        send.write_all(&request).await?;
    }
    Ok(())
}

/// Bytes of a request, and of its answer.
const LENGTH: usize = 16;

/// Streams are at 0.
const BEFORE_PAYLOAD: i32 = 1;

/// Twice what a plan can ask for; 3.2 kB/s.
const MAX_PER_SECOND: u64 = 200;

const POLL_INTERVAL: Duration = Duration::from_millis(50);

const NO_PANIC: &str = "nothing panics while it is locked";
