//! Several futures on one task, which may borrow what a spawned one could not.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// What all of them come to, in their order; they run at once.
///
/// Each wake-up polls all that are not done: for tens of futures that seldom wake.
pub async fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<Pin<Box<F>>> = futures.into_iter().map(Box::pin).collect();
    let mut ended: Vec<Option<F::Output>> = running.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, ended) in running.iter_mut().zip(&mut ended) {
            if ended.is_none()
                && let Poll::Ready(output) = future.as_mut().poll(context)
            {
                *ended = Some(output);
            }
        }
        if ended.iter().all(Option::is_some) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    ended.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::Notify;

    #[tokio::test]
    async fn all_run_at_once_and_keep_their_order() {
        let later = Notify::new();
        let wait = |number| {
            let later = &later;
            async move {
                // The first can only end because the others run as well.
                match number {
                    1 => later.notified().await,
                    3 => later.notify_one(),
                    _ => {}
                }
                number
            }
        };
        assert_eq!(all([1, 2, 3].map(wait)).await, [1, 2, 3]);
        assert_eq!(all([0; 0].map(wait)).await, [0; 0]);
    }
}
