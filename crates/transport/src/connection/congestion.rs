//! Congestion control as the application sees and changes it.

use super::handle::Connection;
use crate::cc_adapter::{By, CongestionEvents};
use crate::choice::ChooseController;
use crate::clock;
use crate::kernel_pacing::NoKernelPacing;
use crate::path_watch::{PathEstimate, PathWatch, Watcher};
use cc_core::{Observer, Snapshot};
use units::Bandwidth;

impl Connection {
    /// What an encoder should send now, headers included: what the path carries without a queue,
    /// as far as is known, less a tenth.
    ///
    /// It rises above what is sent as long as packets of a frame come through faster than frames
    /// are made, falls within a second of the path's rate, is lowered by up to a half while the
    /// path has a queue of more than 10 ms and a quarter of the round trip, and is never more than
    /// nine tenths of [`max_rate`](crate::TransportConfig::max_rate). It is that of the whole
    /// connection: streams and datagrams share it. `docs/live.md` has the definition.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// // Before each frame: what the encoder is to make of it.
    /// let rate = client.send_rate_hint();
    /// let bytes_of_frame = rate.bytes_per_sec() / 30;
    /// # assert!(bytes_of_frame > 0);
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    pub fn send_rate_hint(&self) -> Bandwidth {
        self.path_estimate().send_rate_hint
    }

    /// Has the hint found out by itself whether the path carries as much as this: an encoder's next
    /// step. `None`, the default, ends it.
    ///
    /// A connection knows of its path up to what was sent over it. As long as the
    /// [hint](Self::send_rate_hint) is below `target` and the application sends less than the hint,
    /// packets of padding follow what it sends, up to the hint, when nothing else waits: with them
    /// the hint rises by steps. They stop at the target, when the hint has not risen for 4 s, when
    /// the path has a queue or loses more than 5 %; the next attempt is after 4 s, and each that
    /// fails doubles the time, up to a minute. To ask again, with each frame or after `None`,
    /// leaves these times as they are; a target above one that was reached is tried at once. It is
    /// off by default because it takes a rate that others of the path could use, and that may cost
    /// money: only an encoder knows that it would use more.
    ///
    /// The peer's application gets nothing of it. Padding is carried in the place of datagrams: if
    /// the peer takes none, there is none. `stats().datagrams.padding` counts its packets;
    /// `frame_tx` counts them as datagrams. `docs/live.md` has what it costs and brings.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// use paceline::units::Bandwidth;
    /// // At 2 Mbit/s; the next step is 4, and a tenth for what is sent beside.
    /// client.probe_up_to(Some(Bandwidth::from_bits_per_sec(4_400_000)));
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    pub fn probe_up_to(&self, target: impl Into<Option<Bandwidth>>) {
        self.state().driver.probe_up_to(clock::now(), target.into());
    }

    /// What is known of the path at this moment.
    pub fn path_estimate(&self) -> PathEstimate {
        let mut state = self.state();
        let estimate = state.driver.path_estimate(clock::now());
        if state.driver.close_if_panicked() {
            self.0.schedule();
        }
        estimate
    }

    /// The newest estimate of the path whenever it has changed, from now on. Any number of watches
    /// may be beside each other.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// let mut watch = client.path_watch();
    /// tokio::spawn(async move {
    ///     while let Some(estimate) = watch.next().await {
    ///         println!("send {} from now on", estimate.send_rate_hint);
    ///     }
    /// });
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    pub fn path_watch(&self) -> PathWatch {
        let (watch, watcher) = Watcher::new();
        let mut state = self.state();
        if state.error.is_none() {
            state.driver.add_path_watcher(watcher);
        }
        watch
    }

    /// The congestion controller's state at this moment.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// let state = client.congestion();
    /// assert_eq!((state.algorithm, state.state), ("cubic", "SlowStart"));
    /// println!("{state}");
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    pub fn congestion(&self) -> Snapshot {
        let mut state = self.state();
        let snapshot = state.driver.snapshot();
        if state.driver.close_if_panicked() {
            self.0.schedule();
        }
        snapshot
    }

    /// Exchanges the congestion controller while the connection runs. What is in flight stays so.
    /// A controller that panics while it is made ends the connection, as it does later.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// client.set_congestion("bbr3:loss_thresh=5%")?;
    /// assert_eq!(client.congestion().algorithm, "bbr3");
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When a string names no controller.
    pub fn set_congestion<C: ChooseController>(&self, choice: C) -> C::Chosen<()> {
        choice.choose_controller(|choice| {
            self.state().driver.set_congestion(clock::now(), &choice);
            self.0.schedule();
        })
    }

    /// Changes [`TransportConfig::max_rate`](crate::TransportConfig::max_rate) from now on.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// // While the user is in a call.
    /// client.set_max_rate(Some("2mbit".parse()?));
    /// client.set_max_rate(None);
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_max_rate(&self, rate: Option<Bandwidth>) {
        self.state().driver.set_max_rate(clock::now(), rate);
        self.0.schedule();
    }

    /// Whether the kernel sends the connection's packets at their departure times
    /// ([`TransportConfig::kernel_pacing`](crate::TransportConfig::kernel_pacing)).
    ///
    /// # Errors
    /// Why it does not.
    pub fn kernel_pacing(&self) -> Result<(), NoKernelPacing> {
        self.state().driver.kernel_pacing()
    }

    /// Calls `observer` with every event inside congestion control, from now on, in place of the
    /// one that was set before.
    ///
    /// It is called on the endpoint's task, soon after the event, and must not wait. No lock is
    /// held: it may use the connection and the endpoint. It is dropped with the connection's end.
    /// A panic in it closes the connection, and it alone, with an error that says so, as does one
    /// in a congestion controller.
    ///
    /// ```
    /// use paceline::Observer;
    /// use paceline::cc_core::Event;
    ///
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// #[derive(Debug)]
    /// struct Print;
    ///
    /// impl Observer for Print {
    ///     fn on_event(&mut self, event: &Event) {
    ///         println!("{event:?}");
    ///     }
    /// }
    ///
    /// client.set_observer(Box::new(Print));
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_observer(&self, observer: Box<dyn Observer + Send>) {
        self.0.add_observer(By::Set(observer));
    }

    /// As [`set_observer`](Self::set_observer), but beside all others. It stays until the
    /// connection's end.
    pub fn add_observer(&self, observer: Box<dyn Observer + Send>) {
        self.0.add_observer(By::Added(observer));
    }

    /// Every event inside congestion control, from now on, to be read wherever and as slowly as the
    /// application likes. Any number of streams and observers may be beside each other.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/connected.rs"));
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (client, server) = connected().await?;
    /// let mut events = client.congestion_events();
    /// let printing = tokio::spawn(async move {
    ///     while let Some(event) = events.next().await {
    ///         println!("{event:?}");
    ///     }
    /// });
    /// client.close(0_u32.into(), b"done");
    /// // The stream ends with the connection.
    /// printing.await?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    pub fn congestion_events(&self) -> CongestionEvents {
        let (events, source) = CongestionEvents::new();
        self.0.add_observer(By::Stream(source));
        events
    }
}
