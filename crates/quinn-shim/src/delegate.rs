//! Methods of paceline's that are named by their path too: `.map(quinn::Connection::rtt)`.

/// Methods of a type that holds paceline's of the same name.
macro_rules! delegated {
    ($type:ident: $($name:ident($($argument:ident: $of:ty),*) $(-> $output:ty)?;)*) => {
        impl $type {$(
            #[doc = concat!("As [`paceline::", stringify!($type), "::", stringify!($name), "`].")]
            pub fn $name(&self $(, $argument: $of)*) $(-> $output)? {
                self.0.$name($($argument),*)
            }
        )*}
    };
}

pub(crate) use delegated;
