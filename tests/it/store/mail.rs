//! Mail in the ledger: deliveries and concurrent writers.

use chorus::domain::{
    AgentName, Caller, Correspondent, HandoffId, Mail, MailContent, MailId, MailQuery, Outcome,
    TaskId,
};
use chorus::ledger::mail::{self, DeliverMail, MailMark, MarkMail, SendMail, Sender};
use chorus::ledger::{handoff, task};
use chorus::store::StoreError;
use chorus::store::tables::handoffs;
use serde_json::json;

use crate::support::TestApp;

fn mail_to(to: &str, subject: &str) -> SendMail {
    SendMail {
        id: MailId::new(),
        from: Sender::Known(Correspondent::anonymous()),
        from_verified: false,
        to: vec![to.parse().unwrap()],
        cc: Vec::new(),
        content: MailContent {
            subject: subject.parse().unwrap(),
            ..MailContent::default()
        },
        in_reply_to: None,
    }
}

async fn hand_off_to_qa(app: &TestApp) -> (TaskId, HandoffId) {
    let task = app.task("Test it").await;
    let body = json!({ "agentName": "qa", "prompt": "Do it" });
    let handed = app
        .post(&format!("/api/tasks/{task}/handoff"), body)
        .await
        .data();
    let handoff = handed["agentChain"][0]["id"].as_str().unwrap();
    (task.parse().unwrap(), handoff.parse().unwrap())
}

async fn deliver(app: &TestApp, handoff_id: &HandoffId, mail: &Mail) {
    let delivery = DeliverMail {
        handoff_id: handoff_id.clone(),
        agent_name: AgentName::parse("qa").unwrap(),
        ids: vec![mail.id.clone()],
    };
    app.write(move |tx| mail::deliver(tx, &delivery))
        .await
        .unwrap();
}

async fn end_handoff(app: &TestApp, task_id: &TaskId, outcome: Outcome) {
    let (task_id, output) = (task_id.clone(), "said".parse().unwrap());
    let ended = app.write(move |tx| {
        let number = task::number(tx, &task_id)?;
        let open = handoffs::find_open(tx, number)?.unwrap();
        handoff::end_by_number(tx, open.number, outcome, &output)
    });
    ended.await.unwrap();
}

async fn send(app: &TestApp, to: &str, subject: &str) -> Result<Mail, StoreError> {
    let mail = mail_to(to, subject);
    app.write(move |tx| mail::send(tx, &mail)).await
}

async fn find(app: &TestApp, mail: &Mail) -> Mail {
    let id = mail.id.clone();
    app.read(move |view| mail::get(view, &id)).await
}

async fn delivered_and_read(app: &TestApp, mail: &Mail) -> (bool, bool) {
    let mail = find(app, mail).await;
    let own = &mail.recipients[0];
    (own.delivered_at.is_some(), own.read_at.is_some())
}

async fn count_events(app: &TestApp, event_type: &str) -> usize {
    let all = app.events().await;
    let has_type = |event: &&chorus::domain::Event| event.event_type.as_str() == event_type;
    all.iter().filter(has_type).count()
}

#[tokio::test]
async fn only_a_completed_hand_off_marks_its_mail_as_read() {
    let app = TestApp::new().await;
    let mail = send(&app, "qa", "Look").await.unwrap();
    for outcome in [
        Outcome::Failed,
        Outcome::Cancelled,
        Outcome::TimedOut,
        Outcome::Interrupted,
    ] {
        let (task, handoff) = hand_off_to_qa(&app).await;
        deliver(&app, &handoff, &mail).await;
        // A repetition is the same delivery.
        deliver(&app, &handoff, &mail).await;
        end_handoff(&app, &task, outcome).await;
        assert_eq!(
            delivered_and_read(&app, &mail).await,
            (true, false),
            "{outcome:?}"
        );
    }
    assert_eq!(count_events(&app, "mail_delivered").await, 4);
    let (task, handoff) = hand_off_to_qa(&app).await;
    deliver(&app, &handoff, &mail).await;
    end_handoff(&app, &task, Outcome::Completed).await;
    assert_eq!(delivered_and_read(&app, &mail).await, (true, true));
    assert_eq!(count_events(&app, "mail_read").await, 1);
    app.assert_invariants();
}

#[tokio::test]
async fn mail_that_came_after_the_prompt_stays_unread() {
    let app = TestApp::new().await;
    let (task, handoff) = hand_off_to_qa(&app).await;
    let early = send(&app, "qa", "early").await.unwrap();
    deliver(&app, &handoff, &early).await;
    let late = send(&app, "qa", "late").await.unwrap();
    end_handoff(&app, &task, Outcome::Completed).await;
    assert_eq!(delivered_and_read(&app, &early).await, (true, true));
    assert_eq!(delivered_and_read(&app, &late).await, (false, false));
    // Mail to another agent is not delivered to qa.
    let other = send(&app, "planner", "other").await.unwrap();
    let (_, handoff) = hand_off_to_qa(&app).await;
    deliver(&app, &handoff, &other).await;
    assert_eq!(delivered_and_read(&app, &other).await, (false, false));
}

#[tokio::test]
async fn an_ended_hand_off_gets_no_mail() {
    let app = TestApp::new().await;
    let mail = send(&app, "qa", "Look").await.unwrap();
    let (task, handoff) = hand_off_to_qa(&app).await;
    end_handoff(&app, &task, Outcome::Completed).await;
    deliver(&app, &handoff, &mail).await;
    assert_eq!(delivered_and_read(&app, &mail).await, (false, false));
    assert_eq!(count_events(&app, "mail_delivered").await, 0);
}

#[tokio::test]
async fn two_hand_offs_of_one_agent_may_receive_the_same_mail() {
    let app = TestApp::new().await;
    let mail = send(&app, "qa", "Look").await.unwrap();
    let (first, second) = (hand_off_to_qa(&app).await, hand_off_to_qa(&app).await);
    deliver(&app, &first.1, &mail).await;
    deliver(&app, &second.1, &mail).await;
    // The last delivery decides: reading a mail twice is better than never.
    end_handoff(&app, &first.0, Outcome::Completed).await;
    assert_eq!(delivered_and_read(&app, &mail).await, (true, false));
    end_handoff(&app, &second.0, Outcome::Completed).await;
    assert_eq!(delivered_and_read(&app, &mail).await, (true, true));
    app.assert_invariants();
}

#[tokio::test]
async fn concurrent_acknowledgements_are_recorded_once() {
    let app = TestApp::new().await;
    let mail = send(&app, "qa", "Look").await.unwrap();
    let mark = |mark| MarkMail {
        id: mail.id.clone(),
        mark,
        recipient: None,
        caller: Caller::Operator,
    };
    let marks = (0..40).map(|place| {
        let how = [MailMark::Acknowledged, MailMark::Read][place % 2];
        let mark = mark(how);
        app.write(move |tx| mail::mark(tx, &mark))
    });
    let marked = futures_util::future::join_all(marks).await;
    let last = find(&app, &mail).await;
    for each in marked {
        assert!(each.unwrap().recipients[0].read_at.is_some());
    }
    assert!(last.recipients[0].acknowledged_at.is_some());
    assert_eq!(count_events(&app, "mail_acknowledged").await, 1);
    app.assert_invariants();
}

#[tokio::test]
async fn no_mail_of_concurrent_senders_is_lost() {
    let app = TestApp::new().await;
    let sent = (0..200).map(|place| {
        let to = if place % 10 == 0 { "nobody" } else { "qa" };
        let mail = mail_to(to, &place.to_string());
        app.write(move |tx| mail::send(tx, &mail))
    });
    let sent = futures_util::future::join_all(sent).await;
    let refused = sent.iter().filter(|mail| mail.is_err()).count();
    let query = MailQuery {
        to: Some(Correspondent::parse("qa").unwrap()),
        unread: true,
        limit: 1000,
        ..MailQuery::default()
    };
    let found = app.read(move |view| mail::list(view, &query)).await;
    let found = found.items.len();
    assert_eq!((refused, found), (20, 180));
    assert_eq!(count_events(&app, "mail_sent").await, 180);
    app.assert_invariants();
}
