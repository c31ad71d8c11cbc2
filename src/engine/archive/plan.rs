//! The plan of an import: the importable and the bad files of an archive.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::Deserialize;

use super::one_file::{Planned, check_all};
use super::places::Places;
use super::reader::{ArchiveDir, BadFile, LEDGER};
use super::seen::Seen;
use super::task_files::{PlannedTask, number_problem, read_task, task_folder};
use super::{ArchiveError, EVENTS, Progress, ROUTES, VERSION};
use crate::domain::{
    Agent, AgentName, Alert, Event, History, Increment, KindRule, LedgerArchive, Mail, Request,
    TaskId, TaskSummary, Text, Tool,
};
use crate::runner::{Workspaces, check_spec_path};

#[derive(Deserialize)]
struct Registry {
    version: u32,
    tasks: Vec<TaskSummary>,
}

/// A task or a request whose workspace agents cannot use here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Displaced {
    pub noun: &'static str,
    pub id: String,
    pub workspace: Text,
    pub problem: String,
}

#[derive(Default)]
pub(super) struct Plan {
    pub tasks: Vec<PlannedTask>,
    pub agents: Vec<Agent>,
    /// Whether the archive says which agents there are.
    pub has_agents: bool,
    /// The new agents that name a program.
    pub programs: Vec<(AgentName, Text)>,
    /// The variables of new agents that have no value.
    pub without_value: Vec<(AgentName, Vec<Text>)>,
    pub displaced: Vec<Displaced>,
    pub ledger: LedgerArchive,
    pub events: Vec<Event>,
    /// Whether all events have numbers.
    pub is_numbered: bool,
    pub tools: Vec<Tool>,
    pub requests: Vec<Planned>,
    pub alerts: Vec<Planned>,
    pub increments: Vec<Planned>,
    pub mail: Vec<Planned>,
    pub routes: Option<Vec<KindRule>>,
    pub bad: Vec<BadFile>,
}

impl Plan {
    pub fn check(
        archive: &ArchiveDir,
        workspaces: Workspaces,
        progress: impl Fn(Progress),
    ) -> Result<(Self, Places), ArchiveError> {
        let index = Path::new("registry/registry.json");
        let registry: Registry = archive
            .read(index)
            .map_err(|bad| ArchiveError::Bad(vec![bad]))?;
        if registry.version != VERSION {
            let message = format!(
                "version {} is unknown; this Chorus reads version {VERSION}",
                registry.version
            );
            return Err(ArchiveError::Bad(vec![BadFile {
                file: index.into(),
                line: None,
                message,
            }]));
        }
        let mut plan = Self::default();
        plan.check_folders(archive, &registry);
        let total = registry.tasks.len() as u64;
        let places = Places::new(workspaces, registry.tasks.iter().map(|task| &task.id));
        let mut seen = Seen::default();
        for (done, summary) in (1..).zip(registry.tasks) {
            let task = read_task(archive, &summary.id).and_then(|task| {
                let workspace = places.place(&task.task.agent_workspace);
                Ok((seen.add(task)?, workspace))
            });
            match task {
                Ok((task, workspace)) => {
                    plan.check_workspace(&places, "task", task.id.as_str(), workspace);
                    plan.tasks.push(task);
                }
                Err(bad) => plan.bad.push(bad),
            }
            progress(Progress { done, total });
        }
        plan.leave_out_cycles(&seen.waits_for);
        plan.check_ledger(archive);
        plan.check_events(archive, &mut seen);
        plan.is_numbered = !seen.has_unnumbered;
        plan.check_agents(archive);
        plan.check_tools(archive);
        let workspaces = RefCell::new(Vec::new());
        plan.requests = check_all(archive, &mut plan.bad, |request: &Request| {
            if let Some(workspace) = &request.agent_workspace {
                let workspace = places.place(workspace);
                workspaces
                    .borrow_mut()
                    .push((request.id.clone(), workspace));
            }
            let id = request.handoff_id.as_ref()?;
            let has_ended = seen.handoffs.get(id) == Some(&false);
            has_ended.then(|| format!("is claimed by the hand-off {id}, which has ended"))
        });
        for (id, workspace) in workspaces.into_inner() {
            plan.check_workspace(&places, "request", id.as_str(), workspace);
        }
        plan.alerts = check_all(archive, &mut plan.bad, |_: &Alert| None);
        plan.increments = check_all(archive, &mut plan.bad, |_: &Increment| None);
        plan.mail = check_all(archive, &mut plan.bad, |_: &Mail| None);
        plan.check_routes(archive);
        Ok((plan, places))
    }

    /// Notes a workspace that agents cannot use here.
    fn check_workspace(&mut self, places: &Places, noun: &'static str, id: &str, workspace: Text) {
        self.displaced
            .extend(places.problem(&workspace).map(|problem| Displaced {
                noun,
                id: id.to_owned(),
                workspace,
                problem,
            }));
    }

    fn check_ledger(&mut self, archive: &ArchiveDir) {
        match archive.read_if_present(Path::new(LEDGER)) {
            Ok(ledger) => self.ledger = ledger.unwrap_or_default(),
            Err(bad) => self.bad.push(bad),
        }
    }

    fn check_events(&mut self, archive: &ArchiveDir, seen: &mut Seen) {
        let file = Path::new(EVENTS);
        let history = match archive.read_if_present::<History>(file) {
            Ok(history) => history.unwrap_or_default(),
            Err(bad) => return self.bad.push(bad),
        };
        let problem = history.events.iter().find_map(|event| {
            if event.task_id.is_some() || event.handoff_id.is_some() {
                return Some(
                    "an event names a task or a hand-off; it belongs to the history of that task"
                        .to_owned(),
                );
            }
            number_problem(event.number).or_else(|| seen.add_event(event).err())
        });
        match problem {
            None => self.events = history.events,
            Some(message) => self.bad.push(BadFile {
                file: file.to_owned(),
                line: None,
                message,
            }),
        }
    }

    /// Moves the tasks on a dependency cycle to the bad files.
    fn leave_out_cycles(&mut self, waits_for: &HashMap<TaskId, Vec<TaskId>>) {
        let mut waiters: HashMap<&TaskId, Vec<&TaskId>> = HashMap::new();
        let mut waiting: HashMap<&TaskId, usize> = HashMap::new();
        for (task, others) in waits_for {
            let others = others.iter().filter(|other| waits_for.contains_key(other));
            let mut count = 0;
            for other in others {
                waiters.entry(other).or_default().push(task);
                count += 1;
            }
            waiting.insert(task, count);
        }
        // Kahn's algorithm: the remaining tasks are on a cycle or behind one.
        let mut free: Vec<_> = waiting
            .iter()
            .filter(|(_, count)| **count == 0)
            .map(|(task, _)| *task)
            .collect();
        while let Some(task) = free.pop() {
            waiting.remove(task);
            for waiter in waiters.remove(task).unwrap_or_default() {
                if let Some(count) = waiting.get_mut(waiter) {
                    *count -= 1;
                    if *count == 0 {
                        free.push(waiter);
                    }
                }
            }
        }
        let in_cycle = |task: &PlannedTask| waiting.contains_key(&task.id);
        self.bad.extend(
            self.tasks
                .iter()
                .filter(|task| in_cycle(task))
                .map(|task| BadFile {
                    file: task_folder(&task.id).join("task.json"),
                    line: None,
                    message: "depends on a cycle of tasks (`dependsOn`)".to_owned(),
                }),
        );
        self.tasks.retain(|task| !in_cycle(task));
    }

    fn check_routes(&mut self, archive: &ArchiveDir) {
        let file = Path::new(ROUTES);
        let folder = file.parent().expect("the routes are in a folder");
        match archive.names(&folder.to_string_lossy()) {
            Err(bad) => return self.bad.push(bad),
            Ok(names) if names.is_empty() => return,
            Ok(names) => {
                for name in names {
                    let other = folder.join(name);
                    if other != file {
                        self.bad.push(BadFile {
                            file: other,
                            line: None,
                            message: format!("is unknown; this folder may contain only {ROUTES}"),
                        });
                    }
                }
            }
        }
        let routes = archive.read::<Vec<KindRule>>(file).and_then(|routes| {
            let checked = KindRule::check_all(&routes).map_err(|problems| BadFile {
                file: file.to_owned(),
                line: None,
                message: problems.to_string(),
            });
            checked.map(|()| routes)
        });
        match routes {
            Ok(routes) => self.routes = Some(routes),
            Err(bad) => self.bad.push(bad),
        }
    }

    /// Reports folders that the index does not list, because their tasks would be lost.
    fn check_folders(&mut self, archive: &ArchiveDir, registry: &Registry) {
        let indexed: HashSet<&str> = registry
            .tasks
            .iter()
            .map(|summary| summary.id.as_str())
            .collect();
        match archive.names("registry") {
            Err(bad) => self.bad.push(bad),
            Ok(names) => {
                for name in names {
                    if name != "registry.json" && !indexed.contains(name.as_str()) {
                        self.bad.push(BadFile {
                            file: Path::new("registry").join(name),
                            line: None,
                            message: "is not listed in registry/registry.json".to_owned(),
                        });
                    }
                }
            }
        }
    }

    fn check_tools(&mut self, archive: &ArchiveDir) {
        let names = match archive.names("tools") {
            Ok(names) => names,
            Err(bad) => return self.bad.push(bad),
        };
        for name in names {
            let file = Path::new("tools").join(&name);
            match archive.read::<Tool>(&file) {
                Ok(tool) => match problem_of(&tool, &name) {
                    None => self.tools.push(tool),
                    Some(message) => self.bad.push(BadFile {
                        file,
                        line: None,
                        message,
                    }),
                },
                Err(bad) => self.bad.push(bad),
            }
        }
    }

    fn check_agents(&mut self, archive: &ArchiveDir) {
        let names = match archive.names("agents") {
            Ok(names) => names,
            Err(bad) => return self.bad.push(bad),
        };
        // A ledger without agents has an empty folder, because its default agents were deleted.
        self.has_agents = !names.is_empty()
            || (self.ledger.seeding.agents_at.is_some() && archive.path("agents").is_dir());
        let mut seen = HashSet::new();
        for name in names {
            let file = Path::new("agents").join(&name);
            if !seen.insert(name.to_ascii_lowercase()) {
                let message = "has the name of another agent, except for case".to_owned();
                self.bad.push(BadFile {
                    file,
                    line: None,
                    message,
                });
                continue;
            }
            match archive.read::<Agent>(&file) {
                Ok(agent) if !agent.check_new_name().0.is_empty() => self.bad.push(BadFile {
                    message: agent.check_new_name().to_string(),
                    line: None,
                    file,
                }),
                Ok(agent) if let Some(message) = problem_of_agent(&agent) => {
                    self.bad.push(BadFile {
                        message,
                        line: None,
                        file,
                    });
                }
                Ok(agent) if name == format!("{}.json", agent.name) => self.agents.push(agent),
                Ok(agent) => self.bad.push(BadFile {
                    message: format!(
                        "contains the agent {}; rename it to {}.json",
                        agent.name, agent.name
                    ),
                    line: None,
                    file,
                }),
                Err(bad) => self.bad.push(bad),
            }
        }
    }
}

/// Describes why the API would refuse an agent, whatever is on this machine.
fn problem_of_agent(agent: &Agent) -> Option<String> {
    let problems = agent.check_without_values();
    if !problems.0.is_empty() {
        return Some(problems.to_string());
    }
    let problem = check_spec_path(agent).err()?;
    Some(problem.to_string())
}

fn problem_of(tool: &Tool, file: &str) -> Option<String> {
    if file != format!("{}.json", tool.name) {
        let name = &tool.name;
        return Some(format!(
            "contains the tool {name}; rename it to {name}.json"
        ));
    }
    if let Err(problems) = tool.check() {
        return Some(problems.to_string());
    }
    None
}
