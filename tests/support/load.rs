//! Clients that work on tasks of their own and remember every acknowledged call.

use std::collections::BTreeMap;
use std::path::Path;

use chorus::client::{Client, ClientError};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::call::{Call, Verb};
use super::{Random, invariants};

/// The data of one task that a worker wrote, and that the database must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Record {
    description: String,
    /// The status and its message.
    status: (String, Option<String>),
    chain: Vec<Entry>,
    queue: Vec<String>,
    files: BTreeMap<String, String>,
}

/// A hand-off: `end` is its outcome and its output.
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

    fn apply(&mut self, verb: &Verb) {
        let mut end = |outcome: &str, output: &str| {
            let entry = self.chain.last_mut().unwrap();
            entry.end = Some((outcome.to_owned(), output.to_owned()));
            if self.status.0 == "active" {
                self.status = ("waiting".to_owned(), None);
            }
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
    /// The call that was sent and not answered.
    pending: Option<Call>,
    /// The last answered call.
    last: Option<(Call, Value)>,
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

    /// Sends calls until the server is gone, and reports every answer. First repeats the last answered call, whose answer must be
    /// the same, and the unanswered one.
    pub async fn work(&mut self, client: &Client, answered: &UnboundedSender<()>) {
        if let Some((call, answer)) = &self.last {
            match send(client, call).await {
                Some(again) => assert_eq!(again, *answer, "{call:?} has two answers"),
                None => return,
            }
        }
        loop {
            let call = self.pending.take().unwrap_or_else(|| self.next());
            self.pending = Some(call.clone());
            let Some(answer) = send(client, &call).await else {
                return;
            };
            if matches!(call.verb, Verb::Create { .. }) {
                let id = answer["id"].as_str().unwrap().to_owned();
                self.tasks.push((id, Record::default()));
            }
            let mut tasks = self.tasks.iter_mut().rev();
            let is_target =
                |(id, _): &&mut (String, Record)| call.task.is_empty() || *id == call.task;
            tasks.find(is_target).unwrap().1.apply(&call.verb);
            self.pending = None;
            self.last = Some((call, answer));
            // An error means that the test has stopped counting.
            let _ = answered.send(());
        }
    }

    /// Chooses the next call. Every text is unique in a database.
    fn next(&mut self) -> Call {
        self.requests += 1;
        let text = format!("{}.{}", self.name, self.requests);
        let random = &mut self.random;
        let key = Some(format!("key-{text}"));
        if self.tasks.is_empty() || random.once_in(8) {
            let verb = Verb::Create { description: text };
            return Call {
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
        Call {
            task: id.clone(),
            verb,
            key,
        }
    }
}

/// Sends a call. `None` means that the server is gone.
async fn send(client: &Client, call: &Call) -> Option<Value> {
    let (method, path, body) = call.parts();
    let request = client
        .request(method, &path)
        .header("idempotency-key", call.key.as_deref().unwrap())
        .body(body);
    match client.send(request).await {
        Ok(reply) => Some(reply.data().unwrap()),
        Err(ClientError::Unreachable { .. }) => None,
        Err(error) => panic!("{call:?}: {error:?}"),
    }
}

/// Checks that a data directory holds every acknowledged call, each unanswered call wholly or not at all, and nothing else.
/// Ignores tasks whose description starts with `ignored`.
pub fn assert_durable(data_dir: &Path, workers: &[Worker], ignored: &str) {
    let database = data_dir.join("chorus.db");
    invariants::assert_hold(&database);
    let mut stored = records(data_dir);
    stored.retain(|_, record| !record.description.starts_with(ignored));
    for worker in workers {
        for (id, record) in &worker.tasks {
            let found = stored
                .remove(id)
                .unwrap_or_else(|| panic!("{id} is lost: {record:?}"));
            let mut with_pending = record.clone();
            if let Some(pending) = worker.pending.as_ref().filter(|call| call.task == *id) {
                with_pending.apply(&pending.verb);
            }
            assert!(
                found == *record || found == with_pending,
                "{id} is {found:?}, expected {record:?} or {with_pending:?}"
            );
        }
        if let Some(Call {
            verb: verb @ Verb::Create { .. },
            ..
        }) = &worker.pending
        {
            let mut record = Record::default();
            record.apply(verb);
            let found = stored.iter().find(|(_, found)| **found == record);
            if let Some(id) = found.map(|(id, _)| id.clone()) {
                stored.remove(&id);
            }
        }
    }
    assert_eq!(stored, BTreeMap::new(), "no worker created these tasks");
}

/// Reads the records of all tasks, including the bytes of their attachments.
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
