//! The server: answers whatever is asked, on any stream of any connection.

use crate::child::{Orders, say};
use crate::machine::Usage;
use crate::protocol::{Message, SAMPLE, Welcome};
use crate::settings::Settings;
use crate::stack::{Attempt, Connection, Receiver, Sender, Stack};
use crate::wire::{Content, Incoming, Request};
use crate::{Result, check};
use bytes::Bytes;

/// Serves until the parent ends its input.
pub(crate) async fn serve<S: Stack>(
    settings: &Settings,
    certificate: &[u8],
    key: &[u8],
    welcome: Welcome,
    orders: Orders,
) -> Result<()> {
    let (mut server, port) = S::server(settings, certificate, key)?;
    say(&Message::Listening(port))?;
    let accepting = async {
        while let Some(attempt) = S::accept(&mut server).await {
            tokio::spawn(receive(attempt, welcome));
        }
        Err("the server accepts no more".into())
    };
    tokio::select! {
        stopped = accepting => stopped,
        ended = answer(orders) => ended,
    }
}

/// Tells the parent what this process has used whenever it asks.
async fn answer(mut orders: Orders) -> Result<()> {
    while let Some(order) = orders.next_line().await? {
        if order != SAMPLE {
            return Err(format!("expected `{SAMPLE}`, not `{order}`").into());
        }
        say(&Message::Sample(Usage::now()?))?;
    }
    Ok(())
}

/// A connection, from its handshake to its end, of which the client hears first.
async fn receive<C: Connection>(attempt: Attempt<C>, welcome: Welcome) {
    let Ok(mut connection) = attempt.await else {
        return;
    };
    if welcome == Welcome::Close {
        connection.close();
    }
    while let Ok((sender, receiver)) = connection.accept().await {
        tokio::spawn(async move {
            if let Err(error) = respond(sender, Incoming::new(receiver)).await {
                eprintln!("a stream ended early: {error}");
            }
        });
    }
}

async fn respond<R: Receiver>(mut sender: impl Sender, mut incoming: Incoming<R>) -> Result<()> {
    match Request::read(&mut incoming).await? {
        Request::Download { bytes, content } => send(&mut sender, bytes, content).await?,
        Request::Upload { bytes, content } => {
            let received = incoming.count(content).await?;
            if received != bytes {
                return Err(format!("{received} of {bytes} bytes arrived").into());
            }
            let answer = received.to_le_bytes().to_vec();
            sender.write(answer.into()).await?;
        }
        Request::Echo => {
            while let Some(chunk) = incoming.read().await? {
                sender.write(chunk).await?;
            }
        }
        Request::Endless => {
            // It ends when the client goes away.
            let _ = send(&mut sender, u64::MAX, Content::Constant).await;
        }
    }
    // Here the client may have gone as well.
    let _ = sender.finish();
    Ok(())
}

/// Writes so many bytes, in pieces of [`PIECE`].
pub(crate) async fn send(sender: &mut impl Sender, bytes: u64, content: Content) -> Result<()> {
    let constant = Bytes::from(vec![7; PIECE]);
    let mut sent = 0;
    while sent < bytes {
        let length = (bytes - sent).min(PIECE as u64) as usize;
        let piece = match content {
            Content::Constant => constant.slice(..length),
            Content::Checked => check::content(sent, length),
        };
        sender.write(piece).await?;
        sent += length as u64;
    }
    Ok(())
}

/// Bytes that are handed to a stack at once.
const PIECE: usize = 64 << 10;
