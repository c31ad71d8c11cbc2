//! A conversation on a terminal: one message per line, while the conversation is shown live.

use std::collections::HashSet;
use std::io::BufRead;
use std::time::Duration;

use tokio::sync::mpsc::{self, Receiver};

use super::{create_task, queue, send, with_control};
use crate::api::CancelInput;
use crate::cli::task::written;
use crate::cli::ui::{Failure, Ui, one_line};
use crate::client::{Client, Events};
use crate::domain::{Event, Message, MessageType, TaskId, Text};

const COMMANDS: &str = "/agent NAME, /queue, /undo, /cancel, /quit";

/// The number of earlier messages that a conversation begins with.
const EARLIER: usize = 20;

const PAGE: u32 = 1000;

/// The pause between attempts to reach the server.
const PAUSE: Duration = Duration::from_secs(1);

/// A conversation, and what the terminal shows of it.
struct Talk<'a> {
    ui: Ui,
    client: &'a Client,
    /// The task that was named or created, and the root of its family.
    task: Option<(String, TaskId)>,
    /// The agent of the next message, if it was chosen.
    agent: Option<String>,
    /// The number of the last message on the terminal.
    shown: Option<String>,
    /// The messages that were typed here, and need not be shown again.
    typed: HashSet<String>,
}

/// Reads messages and commands until the input ends.
pub(super) async fn talk(
    ui: Ui,
    client: &Client,
    task: Option<String>,
    agent: Option<String>,
) -> Result<(), Failure> {
    let mut events = Some(client.events().await?);
    let mut conversation = Talk {
        ui,
        client,
        task: None,
        agent,
        shown: None,
        typed: HashSet::new(),
    };
    if let Some(task) = task {
        conversation.open(task).await?;
    }
    ui.notice(format_args!("One message per line. Commands: {COMMANDS}"));
    let mut lines = lines();
    loop {
        let line = tokio::select! {
            line = lines.recv() => match line {
                Some(line) => line,
                None => return Ok(()),
            },
            event = next(&mut events, client) => {
                conversation.follow(event.as_ref()).await;
                continue;
            }
            Ok(()) = tokio::signal::ctrl_c() => {
                return Err(Failure::interrupted("Interrupted; the agent continues"));
            }
        };
        match conversation.take(line.trim()).await {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // The conversation goes on after a refusal.
            Err(failure) => {
                let _ = ui.fail(&failure);
            }
        }
    }
}

/// Reads the lines of standard input on a thread of its own, which nobody can interrupt.
fn lines() -> Receiver<String> {
    let (sender, receiver) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Returns the next event, or `None` after the stream had to be opened again.
async fn next(events: &mut Option<Events>, client: &Client) -> Option<Event> {
    if let Some(stream) = events {
        let event = stream.next().await;
        if event.is_none() {
            *events = None;
        }
        return event;
    }
    loop {
        tokio::time::sleep(PAUSE).await;
        if let Ok(stream) = client.events().await {
            *events = Some(stream);
            return None;
        }
    }
}

impl Talk<'_> {
    /// Opens the conversation of a task, and shows its end.
    async fn open(&mut self, task: String) -> Result<(), Failure> {
        let found = self.client.tasks().get(&task).await?.data()?;
        let root = found.root_id().clone();
        self.task = Some((task, root));
        let messages = self.unshown().await?;
        let earlier = messages.len().saturating_sub(EARLIER);
        if earlier > 0 {
            self.ui.notice(format_args!(
                "{earlier} earlier messages: chorus task conversation {}",
                found.id
            ));
        }
        for message in &messages[earlier..] {
            self.ui.line(written(message))?;
        }
        Ok(())
    }

    /// Reads the messages that the terminal does not show yet.
    async fn unshown(&mut self) -> Result<Vec<Message>, Failure> {
        let mut messages = Vec::new();
        let Some((task, _)) = &self.task else {
            return Ok(messages);
        };
        loop {
            let page = self.client.tasks();
            let page = page.conversation(task, PAGE, self.shown.as_deref()).await?;
            let page = page.answer()?;
            if let Some(last) = page.data.last() {
                self.shown = Some(last.number.to_string());
            }
            messages.extend(page.data);
            if page.meta.next.is_none() {
                return Ok(messages);
            }
        }
    }

    /// Shows new messages if an event is about this conversation, or if events may have been missed.
    async fn follow(&mut self, event: Option<&Event>) {
        let root = self.task.as_ref().map(|(_, root)| root);
        if event.is_some_and(|event| event.master_task_id.as_ref() != root) {
            return;
        }
        // The next event shows what an absent server has not.
        let Ok(messages) = self.unshown().await else {
            return;
        };
        for message in &messages {
            let is_user = message.message_type == MessageType::UserMessage;
            if !(is_user && self.typed.remove(message.content.as_str())) {
                let _ = self.ui.line(written(message));
            }
        }
    }

    /// Sends a line, or carries out a command. Returns whether the conversation goes on.
    async fn take(&mut self, line: &str) -> Result<bool, Failure> {
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match command {
            "" => {}
            "/quit" | "/exit" => return Ok(false),
            "/agent" if !rest.trim().is_empty() => {
                self.agent = Some(rest.trim().to_owned());
                self.ui
                    .notice(format_args!("The next message goes to {}", rest.trim()));
            }
            "/queue" => self.show_queue().await?,
            "/undo" => self.take_back().await?,
            "/cancel" => self.cancel().await?,
            command if command.starts_with('/') => {
                self.ui.notice(format_args!("Commands: {COMMANDS}"));
            }
            _ => self.say(line).await?,
        }
        Ok(true)
    }

    async fn say(&mut self, line: &str) -> Result<(), Failure> {
        let content = Text::lossy(line.to_owned());
        if self.task.is_none() {
            let task = create_task(self.client, &content, self.agent.as_deref()).await?;
            self.open(task).await?;
        }
        let Some((task, _)) = &self.task else {
            return Ok(());
        };
        let answer = send(self.client, task, content, self.agent.clone()).await?;
        self.agent = None;
        self.typed.insert(line.to_owned());
        if answer.queued.is_some() {
            let agent = answer.task.current_agent();
            self.ui.notice(format_args!(
                "Queued until {} has completed; /undo takes it back",
                agent.map_or("the agent", |agent| agent.as_str())
            ));
        }
        Ok(())
    }

    /// Returns the task that has control.
    async fn control(&self) -> Result<crate::domain::Task, Failure> {
        match &self.task {
            Some((task, _)) => with_control(self.client, task).await,
            None => Err(Failure::new(
                "the conversation has not begun; type a message",
            )),
        }
    }

    async fn show_queue(&self) -> Result<(), Failure> {
        let task = self.control().await?;
        let messages = queue(self.client, &task.id).await?;
        let mut waiting = messages
            .iter()
            .filter(|message| message.delivered_at.is_none())
            .peekable();
        if waiting.peek().is_none() {
            self.ui.notice("No message waits");
        }
        for message in waiting {
            self.ui
                .line(format_args!("  {}", one_line(message.content.as_str())))?;
        }
        Ok(())
    }

    /// Takes back the last message that waits.
    async fn take_back(&mut self) -> Result<(), Failure> {
        let task = self.control().await?;
        let messages = queue(self.client, &task.id).await?;
        let last = messages
            .into_iter()
            .rfind(|message| message.delivered_at.is_none());
        let Some(last) = last else {
            self.ui.notice("No message waits");
            return Ok(());
        };
        let tasks = self.client.tasks();
        tasks.take_back(task.id.as_str(), last.id.as_str()).await?;
        self.typed.remove(last.content.as_str());
        self.ui.notice(format_args!(
            "Taken back: {}",
            one_line(last.content.as_str())
        ));
        Ok(())
    }

    async fn cancel(&self) -> Result<(), Failure> {
        let task = self.control().await?;
        let input = CancelInput { reason: None };
        self.client.tasks().cancel(task.id.as_str(), &input).await?;
        self.ui.notice("Cancelled");
        Ok(())
    }
}
