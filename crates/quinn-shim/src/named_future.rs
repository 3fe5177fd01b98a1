//! Futures that have a name, where paceline has `async fn`.

use std::future::Future;
use std::pin::Pin;

/// A future of `T` that borrows for `'a`.
pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + Sync + 'a>>;

/// Types, each the future of what stands behind its arrow.
macro_rules! named_futures {
    ($($(#[$doc:meta])* $name:ident -> $output:ty;)*) => {$(
        $(#[$doc])*
        #[must_use = "futures do nothing unless polled"]
        pub struct $name<'a>($crate::named_future::Boxed<'a, $output>);

        impl ::std::future::Future for $name<'_> {
            type Output = $output;

            fn poll(
                mut self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<$output> {
                self.0.as_mut().poll(cx)
            }
        }

        impl ::std::fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}

pub(crate) use named_futures;
