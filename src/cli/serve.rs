//! `chorus serve`

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, IsTerminal};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::arguments::ServeArguments;
use super::collector::Collector;
use super::stray_agents::StrayAgents;
use super::ui::{Failure, Ui};
use super::{ledger, local_socket, operator};
use crate::api::{self, Guard, Places};
use crate::config::{DataDir, DataLock, Limits};
use crate::domain::{Agent, AgentName, ChainLimits, Rules};
use crate::engine::{
    DispatcherOptions, Engine, FileWatch, RouterOptions, WatchOptions, default_agents,
    default_kind_rules, specialists,
};
use crate::ledger::{agent, installation};
use crate::memory;
use crate::peer::Peers;
use crate::runner::{RunnerOptions, Workspaces, tmux_is_installed};
use crate::secret::Token;
use crate::{telemetry, web};

/// The interval between two upkeeps of the metrics and the memory.
const UPKEEP: Duration = Duration::from_secs(5);

/// The attempts to bind a port that is in use, and the pause between two.
const BINDINGS: u32 = 21;
const REBIND: Duration = Duration::from_millis(50);

/// A running server.
pub(super) struct Serving {
    pub engine: Engine,
    pub url: String,
    pub data_dir: DataDir,
    connections: tokio::task::JoinHandle<()>,
    telling: tokio::task::JoinHandle<()>,
    collector: Collector,
    _lock: DataLock,
}

pub(super) async fn run(ui: Ui, arguments: ServeArguments) -> Result<(), Failure> {
    let serving = Serving::start(ui, arguments, default_agents(), specialists()).await?;
    serving.until_stopped().await;
    Ok(())
}

impl Serving {
    /// Opens the data directory, recovers running hand-offs, and begins to listen.
    pub async fn start(
        ui: Ui,
        arguments: ServeArguments,
        agents: Vec<Agent>,
        specialists: Vec<Agent>,
    ) -> Result<Self, Failure> {
        telemetry::start_logging(&arguments.log, arguments.log_format)
            .map_err(|error| Failure::caused(&error))?;
        telemetry::metrics();
        let collector = Collector::find(&arguments)?;
        let descriptors = raise_descriptor_limit();
        let address = SocketAddr::new(arguments.bind, arguments.port);
        // A port in use must not leave a new data directory behind. If there is one, its lock comes first.
        let early = match arguments.data.data_dir.try_exists() {
            Ok(false) => Some(listen(address).await?),
            _ => None,
        };
        let data_dir = DataDir::prepare(&arguments.data.data_dir)?;
        let mut lock = data_dir.lock()?;
        let token_file = data_dir.operator_token();
        let operator = Token::load_or_create(&token_file).map_err(|error| {
            Failure::new(format!(
                "cannot use the operator's token in {}: {error}",
                token_file.display()
            ))
        })?;
        let workspace_root = arguments
            .workspace_root
            .as_deref()
            .map(workspace_root)
            .transpose()?;
        let listener = match early {
            Some(listener) => listener,
            None => listen(address).await?,
        };
        let address = listener
            .local_addr()
            .map_err(|error| Failure::caused(&error))?;
        let limits = Limits {
            lease: arguments.lease_seconds,
            files: Limits::default().files.min(descriptors / 8),
            ..Limits::default()
        };
        let rules = Rules {
            chain: ChainLimits {
                depth: arguments.max_depth,
                hops: arguments.max_hops,
                bounces: arguments.max_bounces,
            },
            route_attempts: arguments.route_attempts,
            carried_bytes: arguments.context_bytes,
            max_rounds: arguments.max_rounds,
            ..limits.rules()
        };
        let engine = ledger::open(
            &data_dir,
            workspace_root.clone(),
            arguments.max_batch,
            limits,
            rules,
        )
        .await?;
        if let Some(path) = data_dir.path().to_str().and_then(|path| path.parse().ok()) {
            let moved = engine.write(None, move |tx| installation::settle(tx, &path));
            let tasks = moved.await?;
            if tasks > 0 {
                tracing::info!(
                    tasks,
                    "the data directory has moved; workspaces in it have moved along"
                );
            }
        }
        let seeded = engine.write(None, move |tx| {
            Ok(agent::seed(tx, &agents)? + agent::seed_specialists(tx, &specialists)?)
        });
        let seeded = seeded.await?;
        engine.seed_kind_rules(default_kind_rules()).await?;
        let is_public = !address.ip().is_loopback();
        let runner = RunnerOptions {
            data_dir: data_dir.clone(),
            isolation: arguments.isolation,
            workspaces: Workspaces::new(data_dir.clone(), workspace_root.clone()),
            program: std::env::current_exe()
                .map_err(|error| Failure::new(format!("cannot find this program: {error}")))?,
            url: own_url(address),
            max_runs: arguments.max_runs.unwrap_or_else(default_max_runs),
            writes_tags: !arguments.watch.is_empty(),
            max_seconds: arguments.max_seconds,
            idle_seconds: arguments.idle_seconds,
            error_seconds: arguments.error_seconds,
            grace_seconds: arguments.grace_seconds,
            pass_env: arguments.pass_env,
        };
        let places = Places::new(api::most_connections(
            descriptors,
            runner.max_runs as usize,
            limits.files,
        ));
        let url = runner.url.clone();
        let starts_programs = runner.max_runs > 0;
        let dispatcher = DispatcherOptions {
            enabled: !arguments.no_dispatch,
            debounce: Duration::from_secs_f64(arguments.debounce_seconds),
            max_runs: runner.max_runs,
            tmux: arguments
                .tmux
                .then(|| following(&runner.program, &url, &data_dir)),
        };
        let router_options = RouterOptions {
            enabled: !arguments.no_route,
            max_runs: runner.max_runs,
            fallback: arguments.fallback_agent,
        };
        if let Some(name) = &router_options.fallback
            && !is_agent(&engine, name).await?
        {
            ui.notice(format_args!(
                "the fallback agent {name} does not exist; create it with `chorus agent create {name}`"
            ));
        }
        if arguments.tmux && !tmux_is_installed() {
            ui.notice("tmux is not installed: --tmux has no effect");
        }
        let watch = (!arguments.watch.is_empty())
            .then(|| {
                FileWatch::start(WatchOptions {
                    roots: arguments.watch,
                    left_out: data_dir.path().to_owned(),
                    file_approval: !arguments.no_file_approval,
                    url: url.clone(),
                })
            })
            .transpose()
            .map_err(|error| Failure::caused(&error))?;
        // Journals and log files keep what is printed to them.
        let link = if std::io::stdout().is_terminal() {
            operator::link(&url, &operator)
        } else {
            format!("{url}{}", web::PAGE)
        };
        let stray = StrayAgents::find(&data_dir, &engine.read(agent::list).await?);
        let peers = Peers::new(data_dir.runs());
        let needs_token = is_public || arguments.require_token || !peers.can_ask();
        let guard = Guard {
            hosts: arguments.allow_host,
            origins: arguments.allow_origin,
            operator: Some(operator),
            is_public,
            requires_token: arguments.require_token,
            peers: Some(Arc::new(peers)),
        };
        if let Err(error) = lock.announce(&url) {
            tracing::warn!(%error, "cannot write the address of the server; `chorus operator link` needs --url");
        }
        let assets = arguments
            .web_dir
            .map_or(web::Assets::Embedded, web::Assets::Folder);
        let local = local_socket::listen(&data_dir.socket());
        let router = api::router(engine.clone(), guard, &assets);
        // A reader of the banner may stop the server at once.
        tokio::spawn(stop_on_signal(engine.clone())?);
        ui.line(format_args!(
            "Chorus {} listens on http://{address}",
            env!("CARGO_PKG_VERSION")
        ))?;
        ui.line(format_args!("Data is in {}", data_dir.path().display()))?;
        if needs_token {
            ui.line(format_args!(
                "Every request needs the token in {}",
                token_file.display()
            ))?;
        }
        ui.line(format_args!("Open the page at {link}"))?;
        if let Some(stray) = stray {
            if std::io::stdout().is_terminal() {
                ui.line(format_args!(
                    "{}; take them in with: {}",
                    stray.sentence(),
                    stray.command
                ))?;
            }
            tracing::warn!(command = %stray.command, "{}", stray.sentence());
        }
        if seeded > 0 {
            tracing::info!(agents = seeded, "seeded the default agents");
        }
        tracing::info!(%address, data_dir = %data_dir.path().display(), "serving");
        tokio::spawn(engine.clone().expire_idempotency_keys());
        let telling = tokio::spawn(engine.record_handoff_spans());
        tokio::spawn(keep_small(engine.clone()));
        // Before the first request: a cancellation must find the process of its hand-off.
        match engine.run_agents(runner).await {
            // The server was stopped while it waited for resources. The next server adopts the runs.
            Err(_) if engine.stopping().is_cancelled() => {}
            result => result.map_err(|error| Failure::caused(&error))?,
        }
        tokio::spawn(engine.clone().dispatch_requests(dispatcher));
        tokio::spawn(engine.clone().route_tasks(router_options));
        // Polling starts commands, too.
        if starts_programs {
            tokio::spawn(engine.clone().follow_jobs());
        }
        if let Some(watch) = watch {
            tokio::spawn(engine.clone().watch_files(watch));
        }
        let stopping = engine.stopping().clone();
        let connections = tokio::spawn(api::serve(listener, local, router, stopping, places));
        Ok(Self {
            engine,
            url,
            data_dir,
            connections,
            telling,
            collector,
            _lock: lock,
        })
    }

    /// Serves until it is stopped, then finishes open requests. Agents continue.
    pub async fn until_stopped(self) {
        if let Err(error) = self.connections.await {
            tracing::error!(%error, "the server stopped unexpectedly");
        }
        local_socket::remove(&self.data_dir.socket());
        self.engine.close().await;
        if let Err(error) = self.telling.await {
            tracing::error!(%error, "spans of hand-offs are no longer sent");
        }
        self.collector.finish().await;
        let agents = self.engine.live_runs();
        if agents > 0 {
            tracing::info!(
                agents,
                "stopped; agents continue, and the next server on this data records their results"
            );
        } else {
            tracing::info!("stopped");
        }
    }
}

async fn is_agent(engine: &Engine, name: &AgentName) -> Result<bool, crate::Error> {
    let name = name.clone();
    let found = engine.read(move |view| agent::find(view, &name)).await?;
    Ok(found.is_some())
}

fn workspace_root(root: &Path) -> Result<PathBuf, Failure> {
    root.canonicalize().map_err(|error| {
        Failure::new(format!(
            "cannot use the workspace root {}: {error}",
            root.display()
        ))
    })
}

/// Returns the command that follows the log of a hand-off.
fn following(program: &Path, url: &str, data_dir: &DataDir) -> Vec<OsString> {
    let words: [&OsStr; 7] = [
        program.as_ref(),
        "log".as_ref(),
        "--url".as_ref(),
        url.as_ref(),
        "--data-dir".as_ref(),
        data_dir.path().as_ref(),
        "-f".as_ref(),
    ];
    words.map(OsStr::to_owned).to_vec()
}

/// Agents mostly wait for their models, so there may be more of them than cores.
fn default_max_runs() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cores * 2).unwrap_or(u32::MAX).max(4)
}

/// Returns the address of the server for agents on this machine.
fn own_url(address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("http://{}", SocketAddr::new(ip, address.port()))
}

/// Binds the address, with retries for a second: a process that a killed server was starting holds the port until it calls exec.
async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let mut attempts = 1;
    let bound = loop {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == ErrorKind::AddrInUse && attempts < BINDINGS => {
                attempts += 1;
                tokio::time::sleep(REBIND).await;
            }
            result => break result,
        }
    };
    bound.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => Failure::new(format!(
            "port {} on {} is in use; stop the other program, or choose another port with --port",
            address.port(),
            address.ip()
        )),
        ErrorKind::PermissionDenied => Failure::new(format!(
            "port {} needs privileges; choose one above 1023 with --port",
            address.port()
        )),
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

/// Keeps the memory of metrics bounded when nobody collects them, and gives freed memory back. The upkeep also keeps a thread of
/// the blocking pool alive: the pool panics if it has none and cannot start one.
async fn keep_small(engine: Engine) {
    let mut rounds = tokio::time::interval(UPKEEP);
    loop {
        tokio::select! {
            () = engine.stopping().cancelled() => return,
            _ = rounds.tick() => {
                let upkeep = tokio::task::spawn_blocking(|| {
                    telemetry::metrics().run_upkeep();
                    memory::trim();
                });
                if let Err(error) = upkeep.await {
                    tracing::warn!(%error, "the upkeep of metrics and memory failed");
                }
            }
        }
    }
}

/// Raises the limit of open files from the usual 1024 to the maximum, because every waiter is an open connection. Returns the
/// limit.
pub(super) fn raise_descriptor_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let current = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(error) => {
            tracing::warn!(%error, "cannot raise the limit of open files");
            limit.current
        }
    };
    current.map_or(usize::MAX, |most| {
        usize::try_from(most).unwrap_or(usize::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_that_becomes_free_soon_is_bound() {
        let other = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = other.local_addr().unwrap();
        let listening = listen(address);
        tokio::pin!(listening);
        // The first attempt fails, because the port is in use.
        tokio::select! {
            biased;
            early = &mut listening => panic!("{early:?}"),
            () = std::future::ready(()) => {}
        }
        drop(other);
        assert_eq!(listening.await.unwrap().local_addr().unwrap(), address);
    }
}
