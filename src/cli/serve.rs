//! `chorus serve`

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::arguments::ServeArguments;
use super::ledger;
use super::ui::{Failure, Ui};
use crate::api::{self, Guard};
use crate::config::DataDir;
use crate::engine::Engine;
use crate::secret::Token;
use crate::telemetry;

/// How often collected metrics are tidied up.
const UPKEEP: Duration = Duration::from_secs(5);

pub(super) async fn run(ui: Ui, arguments: ServeArguments) -> Result<(), Failure> {
    telemetry::start_logging(&arguments.log, arguments.log_format)
        .map_err(|error| Failure::caused(&error))?;
    telemetry::metrics();
    allow_many_connections();
    let data_dir = DataDir::prepare(&arguments.data.data_dir)?;
    let _lock = data_dir.lock()?;
    let token_file = data_dir.operator_token();
    let operator = Token::load_or_create(&token_file).map_err(|error| {
        Failure::new(format!(
            "cannot keep the token in {}: {error}",
            token_file.display()
        ))
    })?;
    let workspace_root = match arguments.workspace_root {
        None => None,
        Some(root) => Some(root.canonicalize().map_err(|error| {
            Failure::new(format!(
                "the workspace root {} cannot be used: {error}",
                root.display()
            ))
        })?),
    };
    let listener = listen(SocketAddr::new(arguments.bind, arguments.port)).await?;
    let address = listener
        .local_addr()
        .map_err(|error| Failure::caused(&error))?;
    let engine = ledger::open(&data_dir, workspace_root, arguments.max_batch).await?;
    let planted = engine.seed().await?;
    let is_public = !address.ip().is_loopback();
    let guard = Guard {
        hosts: arguments.allow_host,
        origins: arguments.allow_origin,
        operator: Some(operator),
        is_public,
    };
    let router = api::router(engine.clone(), guard);
    // Whoever reads that the server listens may stop it at once.
    let stop_on_signal = stop_on_signal(engine.clone())?;
    ui.line(format_args!(
        "Chorus {} listens on http://{address}",
        env!("CARGO_PKG_VERSION")
    ))?;
    ui.line(format_args!("Data is in {}", data_dir.path().display()))?;
    if is_public {
        ui.line(format_args!(
            "Every request needs the token in {}",
            token_file.display()
        ))?;
    }
    if planted > 0 {
        tracing::info!(agents = planted, "planted the default agents");
    }
    tracing::info!(%address, data_dir = %data_dir.path().display(), "serving");
    tokio::spawn(engine.clone().keep_house());
    tokio::spawn(keep_metrics(engine.clone()));
    tokio::spawn(stop_on_signal);
    api::serve(listener, router, engine.stopping().clone()).await;
    engine.close().await;
    tracing::info!("stopped");
    Ok(())
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => Failure::new(format!(
            "port {} on {} is in use; stop the other program, or choose another port with --port",
            address.port(),
            address.ip()
        )),
        ErrorKind::PermissionDenied => {
            Failure::new(format!("port {} needs privileges; choose one above 1023 with --port", address.port()))
        }
        _ => Failure::new(format!("cannot listen on {address}: {error}")),
    })
}

/// Stops the server at SIGINT or SIGTERM.
fn stop_on_signal(engine: Engine) -> Result<impl Future<Output = ()>, Failure> {
    let listen = |kind| {
        signal(kind).map_err(|error| Failure::new(format!("cannot listen for signals: {error}")))
    };
    let (mut interrupt, mut terminate) = (
        listen(SignalKind::interrupt())?,
        listen(SignalKind::terminate())?,
    );
    Ok(async move {
        let signal = tokio::select! {
            _ = interrupt.recv() => "SIGINT",
            _ = terminate.recv() => "SIGTERM",
        };
        tracing::info!(signal, "stopping");
        engine.stopping().cancel();
    })
}

/// Keeps the memory of metrics bounded when nobody collects them.
async fn keep_metrics(engine: Engine) {
    let mut rounds = tokio::time::interval(UPKEEP);
    loop {
        tokio::select! {
            () = engine.stopping().cancelled() => return,
            _ = rounds.tick() => telemetry::metrics().run_upkeep(),
        }
    }
}

/// Every waiter is an open connection: takes as many as the system allows, not the 1024 that shells give.
fn allow_many_connections() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    ) {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
}
