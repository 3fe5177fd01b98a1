use clap::Args;

/// `bench-client list`: what the other commands take.
#[derive(Debug, Clone, Args)]
pub(crate) struct ListArgs {
    /// Only this controller, link word, named link or matrix, with its parameters; `all` for
    /// everything [default: a line of each]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}
