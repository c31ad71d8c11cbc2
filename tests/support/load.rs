//! Clients that work on tasks of their own and remember all that was acknowledged.

use std::collections::BTreeMap;
use std::path::Path;

use chorus::client::{Client, ClientError};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::ask::{Ask, Verb};
use super::{Random, invariants};

/// All that a worker wrote of one task, and so all that must be there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    description: String,
    /// The status, and its message.
    status: (String, Option<String>),
    chain: Vec<Entry>,
    queue: Vec<String>,
    files: BTreeMap<String, String>,
}

/// Agent, prompt, and how it ended with which output.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    agent: String,
    prompt: String,
    end: Option<(String, String)>,
}

impl Record {
    fn is_open(&self) -> bool {
        self.chain.last().is_some_and(|entry| entry.end.is_none())
    }

    /// Writes down what a request does.
    fn apply(&mut self, verb: &Verb) {
        let mut end = |outcome: &str, output: &str| {
            let entry = self.chain.last_mut().unwrap();
            entry.end = Some((outcome.to_owned(), output.to_owned()));
            self.status = ("waiting".to_owned(), None);
        };
        match verb {
            Verb::Create { description } => {
                self.description.clone_from(description);
                self.status = ("pending".to_owned(), None);
            }
            Verb::Start { agent, prompt, .. } => {
                self.chain.push(Entry {
                    agent: (*agent).to_owned(),
                    prompt: prompt.clone(),
                    end: None,
                });
                if self.status.0 != "failed" {
                    self.status = ("active".to_owned(), None);
                }
            }
            Verb::Complete { output } => end("completed", output),
            Verb::Cancel { reason } => end("cancelled", reason.as_deref().unwrap()),
            Verb::SetStatus { status } => {
                let message = status["message"].as_str().unwrap().to_owned();
                self.status = ("failed".to_owned(), Some(message));
            }
            Verb::Queue { content } => self.queue.push(content.clone()),
            Verb::Attach { filename, bytes } => {
                self.files.insert((*filename).to_owned(), bytes.clone());
            }
            Verb::Detach { filename } => {
                self.files.remove(*filename);
            }
            Verb::Plan { .. } => unreachable!("workers do not plan"),
        }
    }
}

/// A client that works on tasks of its own.
pub struct Worker {
    name: usize,
    random: Random,
    requests: usize,
    tasks: Vec<(String, Record)>,
    /// What was sent and not answered.
    pending: Option<Ask>,
    /// What was answered last.
    last: Option<(Ask, Value)>,
}

impl Worker {
    pub fn new(name: usize, random: Random) -> Self {
        Self {
            name,
            random,
            requests: 0,
            tasks: Vec::new(),
            pending: None,
            last: None,
        }
    }

    /// Works until the server is gone, and tells of every answer. First repeats what was left unanswered, and what
    /// was answered last.
    pub async fn work(&mut self, client: &Client, answered: &UnboundedSender<()>) {
        if let Some((ask, answer)) = &self.last {
            match send(client, ask).await {
                Some(again) => assert_eq!(again, *answer, "{ask:?} was answered in two ways"),
                None => return,
            }
        }
        loop {
            let ask = self.pending.take().unwrap_or_else(|| self.next());
            self.pending = Some(ask.clone());
            let Some(answer) = send(client, &ask).await else {
                return;
            };
            if matches!(ask.verb, Verb::Create { .. }) {
                let id = answer["id"].as_str().unwrap().to_owned();
                self.tasks.push((id, Record::default()));
            }
            let mut tasks = self.tasks.iter_mut().rev();
            let is_meant = |(id, _): &&mut (String, Record)| ask.task.is_empty() || *id == ask.task;
            tasks.find(is_meant).unwrap().1.apply(&ask.verb);
            self.pending = None;
            self.last = Some((ask, answer));
            // An error means that nobody counts any more.
            let _ = answered.send(());
        }
    }

    /// Decides what to do next. Every text is written once in the life of a database.
    fn next(&mut self) -> Ask {
        self.requests += 1;
        let text = format!("{}.{}", self.name, self.requests);
        let random = &mut self.random;
        let key = Some(format!("key-{text}"));
        if self.tasks.is_empty() || random.once_in(8) {
            let verb = Verb::Create { description: text };
            return Ask {
                task: String::new(),
                verb,
                key,
            };
        }
        let (id, record) = random.one_of(&self.tasks);
        let filename: &&str = random.one_of(&["a", "b", "c"]);
        let verb = match random.below(10) {
            0..4 if !record.is_open() => Verb::Start {
                agent: "developer",
                prompt: text,
                reason: None,
                resume: false,
            },
            0..3 => Verb::Complete { output: text },
            3 => Verb::Cancel { reason: Some(text) },
            4..6 if record.files.contains_key(*filename) => Verb::Detach { filename },
            4..6 => Verb::Attach {
                filename,
                bytes: text.repeat(1 + random.below(2000)),
            },
            6 => Verb::SetStatus {
                status: json!({ "type": "failed", "message": text }),
            },
            _ => Verb::Queue { content: text },
        };
        Ask {
            task: id.clone(),
            verb,
            key,
        }
    }
}

/// Sends a request; no answer means that the server is gone.
async fn send(client: &Client, ask: &Ask) -> Option<Value> {
    let (method, path, body) = ask.parts();
    let request = client
        .request(method, &path)
        .header("idempotency-key", ask.key.as_deref().unwrap())
        .body(body);
    match client.send(request).await {
        Ok(reply) => Some(reply.data().unwrap()),
        Err(ClientError::Unreachable { .. }) => None,
        Err(error) => panic!("{ask:?}: {error:?}"),
    }
}

/// Checks that a data directory holds what was acknowledged, exactly, and of what was not acknowledged all or nothing.
/// Tasks of nobody's are left alone if their description begins so.
pub fn check(data_dir: &Path, workers: &[Worker], ignored: &str) {
    let database = data_dir.join("chorus.db");
    invariants::assert_hold(&database);
    let mut there = records(data_dir);
    there.retain(|_, record| !record.description.starts_with(ignored));
    for worker in workers {
        for (id, record) in &worker.tasks {
            let found = there
                .remove(id)
                .unwrap_or_else(|| panic!("{id} is lost: {record:?}"));
            let mut with_pending = record.clone();
            if let Some(pending) = worker.pending.as_ref().filter(|ask| ask.task == *id) {
                with_pending.apply(&pending.verb);
            }
            assert!(
                found == *record || found == with_pending,
                "{id} is {found:?}, not {record:?} or {with_pending:?}"
            );
        }
        if let Some(Ask {
            verb: verb @ Verb::Create { .. },
            ..
        }) = &worker.pending
        {
            let mut record = Record::default();
            record.apply(verb);
            let found = there.iter().find(|(_, found)| **found == record);
            if let Some(id) = found.map(|(id, _)| id.clone()) {
                there.remove(&id);
            }
        }
    }
    assert_eq!(there, BTreeMap::new(), "nobody asked for these");
}

/// Reads all that is recorded of every task, the bytes of attachments included.
fn records(data_dir: &Path) -> BTreeMap<String, Record> {
    let connection = invariants::open(&data_dir.join("chorus.db"));
    let mut records = BTreeMap::new();
    let mut read = |query: &str, add: &dyn Fn(&mut Record, [Option<String>; 5])| {
        let mut statement = connection.prepare(query).unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let columns = std::array::from_fn(|column| row.get(column).unwrap());
            let id: String = row.get(0).unwrap();
            add(records.entry(id).or_default(), columns);
        }
    };
    read(
        "SELECT id, description, status, failure_message, NULL FROM tasks",
        &|record, [_, description, status, message, _]| {
            record.description = description.unwrap();
            record.status = (status.unwrap(), message);
        },
    );
    read(
        "SELECT t.id, h.agent_name, h.prompt, h.outcome, h.output
           FROM handoffs h JOIN tasks t ON t.number = h.task_number ORDER BY h.position",
        &|record, [_, agent, prompt, outcome, output]| {
            record.chain.push(Entry {
                agent: agent.unwrap(),
                prompt: prompt.unwrap(),
                end: outcome.zip(output),
            });
        },
    );
    read(
        "SELECT t.id, q.content, NULL, NULL, NULL
           FROM queue_messages q JOIN tasks t ON t.number = q.task_number ORDER BY q.number",
        &|record, [_, content, ..]| record.queue.push(content.unwrap()),
    );
    read(
        "SELECT t.id, a.id, a.filename, NULL, NULL FROM attachments a JOIN tasks t ON t.number = a.task_number",
        &|record, [task, id, filename, ..]| {
            let filename = filename.unwrap();
            let path = data_dir
                .join("uploads")
                .join(task.unwrap())
                .join(id.unwrap());
            let bytes = std::fs::read_to_string(path.join(&filename)).unwrap();
            record.files.insert(filename, bytes);
        },
    );
    records
}
