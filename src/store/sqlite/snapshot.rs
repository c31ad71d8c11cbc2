//! A view of the whole ledger at one moment.

use async_trait::async_trait;
use sqlx::SqliteConnection;

use super::row::Columns;
use super::sql::{query, sql};
use super::{
    agents, alerts, events, increments, mail, messages, queue_messages, requests, routes, tasks,
    tools,
};
use crate::domain::{
    Agent, Alert, Conversation, Increment, Mail, Request, Route, TaskArchive, Tool,
};
use crate::store::{Result, Snapshot, StoreError};

/// How many tasks, requests or alerts are read at once.
const PAGE: u32 = 100;

/// A connection with an open read transaction.
pub(super) struct SqliteSnapshot {
    connection: SqliteConnection,
    /// The last task that was read.
    after: i64,
    after_request: i64,
    after_alert: i64,
    after_increment: i64,
    after_mail: i64,
}

impl SqliteSnapshot {
    /// Begins to read; what is committed later is not seen.
    pub async fn begin(mut connection: SqliteConnection) -> Result<Self> {
        query!(sql!("BEGIN")).execute(&mut connection).await?;
        // The view is fixed by the first read, not by BEGIN.
        query!(sql!("SELECT 1 FROM tasks LIMIT 1"))
            .fetch_optional(&mut connection)
            .await?;
        Ok(Self {
            connection,
            after: 0,
            after_request: 0,
            after_alert: 0,
            after_increment: 0,
            after_mail: 0,
        })
    }
}

#[async_trait]
impl Snapshot for SqliteSnapshot {
    async fn count_tasks(&mut self) -> Result<u64> {
        let row = query!(sql!("SELECT count(*) FROM tasks"))
            .fetch_one(&mut self.connection)
            .await?;
        u64::try_from(row.integer(0)?).map_err(StoreError::inconsistent)
    }

    async fn next_tasks(&mut self) -> Result<Vec<TaskArchive>> {
        let rows = query!(tasks::SELECT_ARCHIVE, self.after, PAGE)
            .fetch_all(&mut self.connection)
            .await?;
        let mut archives = Vec::with_capacity(rows.len());
        for row in rows {
            let stored = tasks::from_row(&row)?;
            self.after = stored.number;
            archives.push(TaskArchive {
                task: stored.task,
                history: events::of_task(&mut self.connection, stored.number)
                    .await?
                    .without_numbers(),
                queue: queue_messages::list(&mut self.connection, stored.number).await?,
                conversation: Conversation {
                    messages: messages::to_export(&mut self.connection, stored.number).await?,
                },
                attachment_ids: stored.attachment_ids,
            });
        }
        Ok(archives)
    }

    async fn agents(&mut self) -> Result<Vec<Agent>> {
        agents::list(&mut self.connection).await
    }

    async fn tools(&mut self) -> Result<Vec<Tool>> {
        tools::list(&mut self.connection).await
    }

    async fn routes(&mut self) -> Result<Vec<Route>> {
        routes::list(&mut self.connection).await
    }

    async fn next_requests(&mut self) -> Result<Vec<Request>> {
        let rows = query!(requests::SELECT_ARCHIVE, self.after_request, PAGE)
            .fetch_all(&mut self.connection)
            .await?;
        let mut page = Vec::with_capacity(rows.len());
        for row in rows {
            let stored = requests::from_row(&row)?;
            self.after_request = stored.number;
            page.push(stored.request);
        }
        Ok(page)
    }

    async fn next_alerts(&mut self) -> Result<Vec<Alert>> {
        let rows = query!(alerts::SELECT_ARCHIVE, self.after_alert, PAGE)
            .fetch_all(&mut self.connection)
            .await?;
        let mut page = Vec::with_capacity(rows.len());
        for row in rows {
            self.after_alert = row.integer(9)?;
            page.push(alerts::from_row(&row)?);
        }
        Ok(page)
    }

    async fn next_increments(&mut self) -> Result<Vec<Increment>> {
        let rows = query!(increments::SELECT_ARCHIVE, self.after_increment, PAGE)
            .fetch_all(&mut self.connection)
            .await?;
        let mut page = Vec::with_capacity(rows.len());
        for row in rows {
            self.after_increment = row.integer(0)?;
            page.push(increments::from_row(&row)?);
        }
        Ok(page)
    }

    async fn next_mail(&mut self) -> Result<Vec<Mail>> {
        let rows = query!(mail::SELECT_ARCHIVE, self.after_mail, PAGE)
            .fetch_all(&mut self.connection)
            .await?;
        let mut page = Vec::with_capacity(rows.len());
        for row in rows {
            let stored = mail::from_row(&row)?;
            self.after_mail = stored.number;
            page.push(stored.mail);
        }
        Ok(page)
    }
}
