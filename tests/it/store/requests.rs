//! Requests in the store: who may move them, who wins, in which order they are begun, and what becomes of those that fail.

use chorus::domain::{
    Actor, Caller, ConversationHistory, KindMode, KindRule, NewRequest, Outcome, Priority, Refusal,
    Request, RequestId, RequestMove, RequestState, SessionId, SessionMove, Status, Task, TaskId,
};
use chorus::ledger::handoff::{self, MoveSession};
use chorus::ledger::{agent, request, run, task};
use chorus::store::StoreError;

use crate::support::requests::{LEASE, Requests, job_route, new_request, on_task, person, route};
use crate::support::{TestApp, invariants};

/// Makes an installation with these routes.
async fn with_routes(routes: Vec<KindRule>) -> TestApp {
    let app = TestApp::new().await;
    Requests(&app.db).set_rules(routes).await;
    app
}

fn refusal<T: std::fmt::Debug>(result: Result<T, StoreError>) -> Refusal {
    match result {
        Err(StoreError::Refused(refusal)) => refusal,
        other => panic!("it was not refused: {other:?}"),
    }
}

/// Says in a word where a request stands, how often it was claimed, and whether it is stuck.
async fn stands(requests: Requests<'_>, request: &Request) -> (RequestState, u32, bool) {
    let found = requests.find(request).await;
    (found.state, found.attempts, found.stuck)
}

#[tokio::test]
async fn a_request_lives_from_needs_to_done() {
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    let made = requests.leave(new_request("fix", "a")).await;
    assert_eq!(made.state, RequestState::Needs);
    app.clock.advance(1);
    let approved = Requests(&app.db).approve(vec![made.id.clone()], Actor::Operator);
    let approved = approved.await.unwrap().remove(0);
    assert_eq!(approved.approved_at, Some(app.clock.now()));
    app.clock.advance(1);
    let claimed = requests.claim(&made, "stranger").await.unwrap();
    let lease = claimed.lease.clone().unwrap();
    assert_eq!((lease.fencing, lease.agent.as_str()), (1, "stranger"));
    assert_eq!(
        lease.expires_at.as_millis(),
        app.clock.now().as_millis() + LEASE
    );
    app.clock.advance(1);
    let kept = requests.beat(&made, Some(1)).await.unwrap().lease.unwrap();
    assert_eq!(
        kept.expires_at.as_millis(),
        app.clock.now().as_millis() + LEASE
    );
    let ended = requests
        .finish(&made, Some(1), person("stranger"))
        .await
        .unwrap();
    assert_eq!(
        (ended.request.response.unwrap().as_str(), ended.unwanted),
        ("answered", None)
    );
    let done = requests.find(&made).await;
    let life: Vec<_> = done
        .transitions
        .iter()
        .map(|moved| (moved.to.as_str(), moved.by.as_str()))
        .collect();
    assert_eq!(
        life,
        [
            ("needs", "operator"),
            ("delegated", "operator"),
            ("claimed", "stranger"),
            ("done", "stranger")
        ]
    );
    assert_eq!(done.lease, None);
    // What is done stays so.
    for again in [
        refusal(requests.claim(&made, "late").await.map(|_| ())),
        refusal(
            requests
                .finish(&made, None, Actor::Operator)
                .await
                .map(|_| ()),
        ),
        refusal(
            requests
                .requeue(&made, Some(1), Actor::Operator)
                .await
                .map(|_| ()),
        ),
        refusal(
            Requests(&app.db)
                .leave_to_next(made.id.clone(), Actor::Operator)
                .await
                .map(|_| ()),
        ),
    ] {
        assert!(
            matches!(
                again,
                Refusal::WrongState {
                    state: RequestState::Done,
                    ..
                }
            ),
            "{again:?}"
        );
    }
    app.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_hundred_claimers_one_wins_and_the_others_are_told_who() {
    let app = TestApp::new().await;
    let request = Requests(&app.db)
        .approved(new_request("fix", "wanted"))
        .await;
    let claimers: Vec<_> = (0..200)
        .map(|number| {
            let (store, request) = (app.db.clone(), request.clone());
            tokio::spawn(async move {
                Requests(&store)
                    .claim(&request, &format!("agent-{number}"))
                    .await
            })
        })
        .collect();
    let (mut winners, mut told) = (Vec::new(), Vec::new());
    for claimer in claimers {
        match claimer.await.unwrap() {
            Ok(won) => winners.push(won.lease.unwrap().agent),
            Err(StoreError::Refused(Refusal::WrongState {
                holder,
                step: RequestMove::Claim,
                ..
            })) => told.push(holder.unwrap()),
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!((winners.len(), told.len()), (1, 199));
    assert!(told.iter().all(|holder| *holder == winners[0]));
    assert_eq!(
        stands(Requests(&app.db), &request).await,
        (RequestState::Claimed, 1, false)
    );
    app.assert_invariants();
}

#[tokio::test]
async fn an_old_fencing_number_counts_for_nothing() {
    let again = KindRule {
        retry: true,
        ..route("fix", "qa")
    };
    let app = with_routes(vec![again]).await;
    let requests = Requests(&app.db);
    let request = requests.approved(new_request("fix", "a")).await;
    requests.claim(&request, "first").await.unwrap();
    app.clock.advance(LEASE);
    assert_eq!(Requests(&app.db).expire_leases().await, 1);
    let stale = |refused: Refusal, state: RequestState| {
        assert!(
            matches!(&refused, Refusal::StaleClaim { state: at, shown: 1, .. } if *at == state),
            "{refused:?}"
        );
    };
    stale(
        refusal(requests.finish(&request, Some(1), person("first")).await),
        RequestState::Delegated,
    );
    requests.claim(&request, "second").await.unwrap();
    stale(
        refusal(requests.finish(&request, Some(1), person("first")).await),
        RequestState::Claimed,
    );
    stale(
        refusal(requests.beat(&request, Some(1)).await),
        RequestState::Claimed,
    );
    stale(
        refusal(requests.requeue(&request, Some(1), person("first")).await),
        RequestState::Claimed,
    );
    let before = requests.find(&request).await;
    assert_eq!((before.state, before.attempts), (RequestState::Claimed, 2));
    requests
        .finish(&request, Some(2), person("second"))
        .await
        .unwrap();
    app.assert_invariants();
}

#[tokio::test]
async fn many_are_approved_at_once_or_none() {
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    let mut ids = Vec::new();
    for title in ["a", "b", "c"] {
        ids.push(requests.leave(new_request("fix", title)).await.id);
    }
    let done = requests.approved(new_request("fix", "approved")).await;
    let number = app.last_event().await;
    let missing: RequestId = "missing".parse().unwrap();
    let bad = [&ids[..], &[done.id.clone(), missing]].concat();
    let Refusal::NotAll(problems) = refusal(Requests(&app.db).approve(bad, Actor::Operator).await)
    else {
        panic!("another refusal")
    };
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(app.last_event().await, number);
    // One that is named twice is approved once.
    let twice = [&ids[..], &ids[..1]].concat();
    let approved = Requests(&app.db)
        .approve(twice, Actor::Operator)
        .await
        .unwrap();
    assert_eq!(approved.len(), 3);
    assert!(
        approved
            .iter()
            .all(|request| request.state == RequestState::Delegated)
    );
    assert_eq!(app.last_event().await, number + 3);
    app.assert_invariants();
}

#[tokio::test]
async fn only_the_operator_and_the_file_move_a_request_out_of_needs() {
    let app = with_routes(vec![route("fix", "qa")]).await;
    let requests = Requests(&app.db);
    let worked_on = requests.approved(new_request("fix", "worked on")).await;
    let run = requests.take_run(&requests.begin(&worked_on).await).await;
    let request = requests.leave(new_request("fix", "a")).await;
    let id = || request.id.clone();
    let others = [
        person("operator"),
        Actor::Run(run),
        Actor::Agent("qa".parse().unwrap()),
        Actor::Dispatcher,
    ];
    for by in others {
        let approve = Requests(&app.db).approve(vec![id()], by.clone()).await;
        let next = Requests(&app.db).leave_to_next(id(), by.clone()).await;
        let finish = requests.finish(&request, None, by.clone()).await;
        for refused in [refusal(approve), refusal(next), refusal(finish)] {
            assert_eq!(refused, Refusal::OperatorOnly, "{by:?}");
        }
    }
    assert!(matches!(
        refusal(requests.claim(&request, "qa").await),
        Refusal::WrongState { .. }
    ));
    assert_eq!(
        stands(requests, &request).await,
        (RequestState::Needs, 0, false)
    );
    requests
        .finish(&request, None, Actor::Operator)
        .await
        .unwrap();
    for by in [Actor::Operator, Actor::File] {
        let made = requests.leave(new_request("fix", "b")).await;
        Requests(&app.db)
            .approve(vec![made.id], by.clone())
            .await
            .unwrap();
        let made = requests.leave(new_request("fix", "c")).await;
        Requests(&app.db).leave_to_next(made.id, by).await.unwrap();
    }
    app.assert_invariants();
}

#[tokio::test]
async fn a_lease_that_ran_out_is_tried_again_and_then_stuck() {
    let again = KindRule {
        retry: true,
        max_attempts: 2,
        ..route("fix", "qa")
    };
    let app = with_routes(vec![again, route("test", "qa")]).await;
    let requests = Requests(&app.db);
    let fix = requests.approved(new_request("fix", "a")).await;
    let test = requests.approved(new_request("test", "b")).await;
    for request in [&fix, &test] {
        requests.claim(request, "stranger").await.unwrap();
    }
    app.clock.advance(LEASE - 1);
    assert_eq!(Requests(&app.db).expire_leases().await, 0);
    requests.beat(&test, None).await.unwrap();
    app.clock.advance(1);
    assert_eq!(app.read(request::due).await.lease, Some(app.clock.now()));
    assert_eq!(Requests(&app.db).expire_leases().await, 1);
    assert_eq!(
        stands(requests, &fix).await,
        (RequestState::Delegated, 1, false)
    );
    assert_eq!(
        stands(requests, &test).await,
        (RequestState::Claimed, 1, false)
    );
    requests.claim(&fix, "stranger").await.unwrap();
    app.clock.advance(LEASE);
    assert_eq!(Requests(&app.db).expire_leases().await, 2);
    // All attempts are used up; the other one is not tried again without a person.
    assert_eq!(stands(requests, &fix).await, (RequestState::Needs, 2, true));
    assert_eq!(
        stands(requests, &test).await,
        (RequestState::Needs, 1, false)
    );
    let actions: Vec<_> = requests
        .find(&fix)
        .await
        .recovery
        .into_iter()
        .map(|recovery| recovery.action.into_string())
        .collect();
    assert_eq!(
        actions,
        [
            "Re-queued for attempt 2",
            "Stopped after attempt 2: it is stuck until a person looks at it"
        ]
    );
    // A person may let it begin anew.
    Requests(&app.db)
        .approve(vec![fix.id.clone()], Actor::Operator)
        .await
        .unwrap();
    assert_eq!(
        stands(requests, &fix).await,
        (RequestState::Delegated, 2, false)
    );
    app.assert_invariants();
}

#[tokio::test]
async fn who_gives_up_leaves_it_to_a_person() {
    let again = KindRule {
        retry: true,
        max_attempts: 9,
        ..route("fix", "qa")
    };
    let app = with_routes(vec![again]).await;
    let requests = Requests(&app.db);
    let claimed = requests.approved(new_request("fix", "claimed")).await;
    requests.claim(&claimed, "stranger").await.unwrap();
    let ended = requests
        .requeue(&claimed, Some(1), person("stranger"))
        .await
        .unwrap();
    assert_eq!(
        (ended.request.state, ended.unwanted),
        (RequestState::Needs, None)
    );
    assert_eq!(ended.request.recovery[0].reason.as_str(), "given up");
    // From outside, the hand-off that works on it ends too, and its run is no longer needed.
    let dispatched = requests.approved(new_request("fix", "dispatched")).await;
    let task = requests.begin(&dispatched).await;
    let run = requests.take_run(&task).await;
    let ended = requests
        .requeue(&dispatched, None, Actor::Operator)
        .await
        .unwrap();
    assert_eq!(
        (ended.request.state, ended.unwanted),
        (RequestState::Needs, Some(run.run_id.clone()))
    );
    let task = find(&app, &task).await;
    assert_eq!(
        task.agent_chain()[0].end.as_ref().unwrap().outcome,
        Outcome::Cancelled
    );
    assert!(!requests.end_run(&run, Outcome::Cancelled, "stopped").await);
    // Its own agent goes on until it ends by itself.
    let own = requests.approved(new_request("fix", "own")).await;
    let task = requests.begin(&own).await;
    let run = requests.take_run(&task).await;
    let ended = requests
        .requeue(&own, None, Actor::Run(run.clone()))
        .await
        .unwrap();
    assert_eq!(
        (ended.request.state, ended.unwanted),
        (RequestState::Needs, None)
    );
    assert!(requests.end_run(&run, Outcome::Completed, "sorry").await);
    assert_eq!(
        stands(requests, &own).await,
        (RequestState::Needs, 1, false)
    );
    app.assert_invariants();
}

#[tokio::test]
async fn the_order_is_priority_then_rank_then_age() {
    let early = KindRule {
        rank: 0.5,
        ..route("early", "qa")
    };
    let interactive = KindRule {
        mode: KindMode::Interactive,
        rank: 0.0,
        ..route("talk", "qa")
    };
    let app = with_routes(vec![route("late", "qa"), early, interactive]).await;
    let requests = Requests(&app.db);
    for (kind, priority, title) in [
        ("late", Priority::P2, "7"),
        ("early", Priority::P2, "5"),
        ("late", Priority::P1, "3"),
        ("early", Priority::P2, "6"),
        ("late", Priority::P0, "2"),
        ("early", Priority::P0, "1"),
        ("late", Priority::P1, "4"),
        ("talk", Priority::P0, "a person takes it"),
        ("nobody", Priority::P0, "has no route"),
    ] {
        requests
            .approved(NewRequest {
                priority,
                ..new_request(kind, title)
            })
            .await;
    }
    requests
        .leave(new_request("early", "is not approved"))
        .await;
    let titles = async |limit| {
        let next = app
            .read(move |view| request::next_to_dispatch(view, limit))
            .await;
        next.iter()
            .map(|request| request.title.as_str().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(titles(100).await, ["1", "2", "3", "4", "5", "6", "7"]);
    assert_eq!(titles(3).await, ["1", "2", "3"]);
    let shown = app.read(request::overview).await;
    let waiting: Vec<_> = shown
        .waiting
        .iter()
        .map(|waiting| waiting.title.as_str())
        .collect();
    assert_eq!(waiting, ["1", "2", "3", "4", "5", "6", "7"]);
    let mut held: Vec<_> = shown
        .held
        .iter()
        .map(|held| (held.kind.as_str(), held.count))
        .collect();
    held.sort_unstable();
    assert_eq!(held, [("nobody", 1), ("talk", 1)]);
}

#[tokio::test]
async fn what_somebody_claimed_meanwhile_is_not_begun() {
    let app = with_routes(vec![route("fix", "qa")]).await;
    let requests = Requests(&app.db);
    let first = requests.approved(new_request("fix", "a")).await;
    let second = requests.approved(new_request("fix", "b")).await;
    requests.claim(&second, "faster").await.unwrap();
    let number = app.last_event().await;
    assert_eq!(requests.dispatch(&[&first, &second]).await.unwrap(), None);
    assert_eq!(app.last_event().await, number);
    assert_eq!(
        stands(requests, &first).await,
        (RequestState::Delegated, 0, false)
    );
    // Nor is what was left to whoever comes, what nobody gets, or what is to be given to nobody that is there.
    let next = requests.leave(new_request("fix", "c")).await;
    Requests(&app.db)
        .leave_to_next(next.id.clone(), Actor::Operator)
        .await
        .unwrap();
    assert_eq!(requests.dispatch(&[&next]).await.unwrap(), None);
    let nobody = requests.approved(new_request("nobody", "d")).await;
    assert_eq!(requests.dispatch(&[&nobody]).await.unwrap(), None);
    invariants::open(&app.data_dir.database())
        .execute("UPDATE agents SET available = 0", [])
        .unwrap();
    assert!(matches!(
        refusal(requests.dispatch(&[&first]).await),
        Refusal::AgentUnavailable(_)
    ));
    assert_eq!(
        app.read(move |view| request::next_to_dispatch(view, 10))
            .await,
        []
    );
    app.assert_invariants();
}

async fn find(app: &TestApp, task: &Task) -> Task {
    let id = task.id.clone();
    app.read(move |view| task::get(view, &id)).await
}

/// Begins a request and lets its run end.
async fn end_with(app: &TestApp, request: &Request, outcome: Outcome) -> Task {
    let requests = Requests(&app.db);
    let task = requests.begin(request).await;
    let run = requests.take_run(&task).await;
    assert!(requests.end_run(&run, outcome, "the end").await);
    find(app, &task).await
}

#[tokio::test]
async fn the_end_of_its_handoff_moves_a_request() {
    let app = with_routes(vec![KindRule {
        retry: true,
        max_attempts: 3,
        ..route("fix", "qa")
    }])
    .await;
    let requests = Requests(&app.db);
    let request = requests.approved(new_request("fix", "a")).await;
    let failed = end_with(&app, &request, Outcome::Failed).await;
    assert_eq!(failed.status, Status::Waiting);
    assert_eq!(
        stands(requests, &request).await,
        (RequestState::Delegated, 1, false)
    );
    // The next attempt goes on with the same task.
    let interrupted = end_with(&app, &request, Outcome::Interrupted).await;
    assert_eq!(
        (&interrupted.id, interrupted.agent_chain().len()),
        (&failed.id, 2)
    );
    assert_eq!(
        stands(requests, &request).await,
        (RequestState::Delegated, 2, false)
    );
    let done = end_with(&app, &request, Outcome::Completed).await;
    assert_eq!((&done.id, &done.status), (&failed.id, &Status::Completed));
    let found = requests.find(&request).await;
    assert_eq!(found.response.unwrap().as_str(), "the end");
    assert_eq!(found.transitions.last().unwrap().by.as_str(), "qa");
    assert_eq!(found.task_id.as_ref(), Some(&failed.id));
    let earlier: Vec<_> = found
        .recovery
        .iter()
        .map(|recovery| recovery.earlier_run.is_some())
        .collect();
    assert_eq!(earlier, [true, true]);
    // What a person cancelled is not tried again without one.
    let request = requests.approved(new_request("fix", "b")).await;
    end_with(&app, &request, Outcome::Cancelled).await;
    assert_eq!(
        stands(requests, &request).await,
        (RequestState::Needs, 1, false)
    );
    // From outside: the hand-off is ended, and the request with it.
    for (outcome, state) in [
        (Outcome::Completed, RequestState::Done),
        (Outcome::Cancelled, RequestState::Needs),
    ] {
        let request = requests.approved(new_request("fix", "c")).await;
        let task_id = requests.begin(&request).await.id;
        let output = "said".parse().unwrap();
        let ended = app.write(move |tx| match outcome {
            Outcome::Completed => handoff::complete(tx, &task_id, &output),
            _ => handoff::cancel(tx, &task_id, Some(&output)),
        });
        ended.await.unwrap();
        assert_eq!(stands(requests, &request).await, (state, 1, false));
    }
    // All attempts are used up.
    let request = requests.approved(new_request("fix", "d")).await;
    for _ in 0..3 {
        end_with(&app, &request, Outcome::TimedOut).await;
    }
    assert_eq!(
        stands(requests, &request).await,
        (RequestState::Needs, 3, true)
    );
    assert_eq!(app.read(request::overview).await.stuck.len(), 1);
    app.assert_invariants();
}

#[tokio::test]
async fn an_answer_from_outside_ends_the_handoff_and_one_of_its_own_agent_does_not() {
    let app = with_routes(vec![route("fix", "qa")]).await;
    let requests = Requests(&app.db);
    let request = requests.approved(new_request("fix", "a")).await;
    let task = requests.begin(&request).await;
    let run = requests.take_run(&task).await;
    let ended = requests
        .finish(&request, None, Actor::Operator)
        .await
        .unwrap();
    assert_eq!(ended.unwanted, Some(run.run_id));
    let task = find(&app, &task).await;
    assert_eq!(
        (task.current_agent(), &task.status),
        (None, &Status::Completed)
    );
    let request = requests.approved(new_request("fix", "b")).await;
    let task = requests.begin(&request).await;
    let run = requests.take_run(&task).await;
    // Another run has no say.
    let other = requests.approved(new_request("fix", "c")).await;
    let other_run = requests.take_run(&requests.begin(&other).await).await;
    let stranger = chorus::domain::RunIdentity {
        agent_name: "planner".parse().unwrap(),
        ..other_run
    };
    let refused = refusal(requests.finish(&request, None, Actor::Run(stranger)).await);
    assert!(
        matches!(refused, Refusal::NotItsClaim { .. }),
        "{refused:?}"
    );
    let ended = requests
        .finish(&request, None, Actor::Run(run.clone()))
        .await
        .unwrap();
    assert_eq!(
        (ended.request.state, ended.unwanted),
        (RequestState::Done, None)
    );
    assert!(find(&app, &task).await.current_agent().is_some());
    assert!(requests.end_run(&run, Outcome::Completed, "later").await);
    assert_eq!(
        requests.find(&request).await.response.unwrap().as_str(),
        "answered"
    );
    assert_eq!(find(&app, &task).await.status, Status::Completed);
    app.assert_invariants();
}

#[tokio::test]
async fn a_transfer_takes_the_request_along() {
    let app = with_routes(vec![route("fix", "developer")]).await;
    let requests = Requests(&app.db);
    requests.tool("to_qa", "qa").await;
    for (outcome, state) in [
        (Outcome::Completed, RequestState::Done),
        (Outcome::Failed, RequestState::Needs),
    ] {
        let request = requests.approved(new_request("fix", "a")).await;
        let task = requests.begin(&request).await;
        let run = requests.take_run(&task).await;
        let child = requests
            .transfer(&task.id, "to_qa", Some(run.clone()))
            .await;
        let found = requests.find(&request).await;
        assert_eq!(found.state, RequestState::Claimed);
        assert_eq!(found.handoff_id.as_ref(), Some(&child.agent_chain()[0].id));
        // The process of the first one ends, and that changes nothing.
        assert!(
            !requests
                .end_run(&run, Outcome::Completed, "passed on")
                .await
        );
        assert_eq!(
            stands(requests, &request).await,
            (RequestState::Claimed, 1, false)
        );
        let run = requests.take_run(&child).await;
        assert!(requests.end_run(&run, outcome, "by the last").await);
        assert_eq!(stands(requests, &request).await, (state, 1, false));
        if outcome == Outcome::Completed {
            assert_eq!(
                requests.find(&request).await.response.unwrap().as_str(),
                "by the last"
            );
        }
    }
    app.assert_invariants();
}

#[tokio::test]
async fn a_run_that_begins_a_conversation_keeps_its_request() {
    let app = with_routes(vec![route("fix", "developer")]).await;
    let requests = Requests(&app.db);
    for invoke in [true, false] {
        let request = requests.approved(new_request("fix", "a")).await;
        let task = requests.begin(&request).await;
        let run = requests.take_run(&task).await;
        let asked = SessionMove {
            session_id: SessionId::parse(format!("session-{invoke}")).unwrap(),
            from_agent: "developer".parse().unwrap(),
            to_agent: "qa".parse().unwrap(),
            reason: "r".parse().unwrap(),
            user_intent: "u".parse().unwrap(),
            conversation_history: ConversationHistory::from_json("[]".to_owned()).unwrap(),
            harness_trace_id: None,
            invoke,
        };
        let to = MoveSession {
            asked,
            new_task: (TaskId::new(), "/".parse().unwrap()),
            caller: Caller::Run(run.clone()),
            trace: None,
        };
        let moved = app.write(move |tx| handoff::move_session(tx, &to));
        moved.await.unwrap();
        let found = requests.find(&request).await;
        assert_eq!(found.handoff_id.as_ref(), Some(&run.handoff_id));
        assert!(requests.end_run(&run, Outcome::Completed, "done").await);
        assert_eq!(
            stands(requests, &request).await,
            (RequestState::Done, 1, false)
        );
    }
    app.assert_invariants();
}

#[tokio::test]
async fn a_batch_is_one_handoff_and_each_request_has_its_own_life() {
    let app = with_routes(vec![KindRule {
        batch: true,
        ..route("fix", "qa")
    }])
    .await;
    let requests = Requests(&app.db);
    let mut batch = Vec::new();
    for title in ["a", "b", "c"] {
        batch.push(requests.approved(new_request("fix", title)).await);
    }
    let all: Vec<_> = batch.iter().collect();
    let task = requests.dispatch(&all).await.unwrap().unwrap();
    assert_eq!(task.agent_chain().len(), 1);
    let run = requests.take_run(&task).await;
    // One is answered on the way, by the agent itself; the hand-off goes on for the others.
    requests
        .finish(&batch[0], Some(1), Actor::Run(run.clone()))
        .await
        .unwrap();
    let ended = requests
        .finish(&batch[1], Some(1), Actor::Operator)
        .await
        .unwrap();
    assert_eq!(ended.unwanted, None);
    assert!(
        requests
            .end_run(&run, Outcome::Completed, "all of it")
            .await
    );
    let mut responses = Vec::new();
    for request in &batch {
        responses.push(requests.find(request).await.response.unwrap().into_string());
    }
    assert_eq!(responses, ["answered", "answered", "all of it"]);
    assert_eq!(find(&app, &task).await.status, Status::Completed);
    // One that is named twice is begun once.
    let twice = requests.approved(new_request("fix", "d")).await;
    requests.dispatch(&[&twice, &twice]).await.unwrap().unwrap();
    assert_eq!(
        stands(requests, &twice).await,
        (RequestState::Claimed, 1, false)
    );
    app.assert_invariants();
}

#[tokio::test]
async fn a_job_goes_on_when_its_starter_has_ended() {
    let app = with_routes(vec![job_route("build")]).await;
    let requests = Requests(&app.db);
    for (outcome, state) in [
        (Outcome::Completed, RequestState::Done),
        (Outcome::Failed, RequestState::Needs),
    ] {
        let request = requests.approved(new_request("build", "a")).await;
        let task = requests.begin(&request).await;
        let run = requests.take_run(&task).await;
        assert!(
            !requests
                .end_run(&run, Outcome::Completed, "starting\n job-7 \n")
                .await
        );
        let found = requests.find(&request).await;
        assert_eq!(
            (found.state, found.job_id.unwrap().as_str()),
            (RequestState::Claimed, "job-7")
        );
        assert!(find(&app, &task).await.current_agent().is_some());
        // The server keeps its lease.
        app.clock.advance(LEASE);
        assert_eq!(Requests(&app.db).expire_leases().await, 0);
        assert_eq!(
            app.write(|tx| request::renew_leases(tx, LEASE))
                .await
                .unwrap(),
            1
        );
        app.assert_invariants();
        let job = app.read(request::list_jobs).await.remove(0);
        assert_eq!(
            (job.request_id.clone(), job.poll_seconds),
            (request.id.clone(), 10)
        );
        let end = |job| requests.end_job(job, outcome, "built");
        assert!(end(job.clone()).await.unwrap());
        assert!(!end(job).await.unwrap(), "it ends once");
        assert_eq!(stands(requests, &request).await, (state, 1, false));
        assert!(app.read(request::list_jobs).await.is_empty());
    }
    app.assert_invariants();
}

#[tokio::test]
async fn a_job_whose_control_is_passed_to_an_agent_is_one_no_more() {
    let app = with_routes(vec![job_route("build")]).await;
    let requests = Requests(&app.db);
    requests.tool("to_qa", "qa").await;
    let request = requests.approved(new_request("build", "a")).await;
    let task = requests.begin(&request).await;
    let run = requests.take_run(&task).await;
    requests.end_run(&run, Outcome::Completed, "job-7").await;
    let child = requests.transfer(&task.id, "to_qa", None).await;
    assert_eq!(app.read(request::list_jobs).await, []);
    app.assert_invariants();
    let run = requests.take_run(&child).await;
    let run_id = run.run_id.clone();
    let found = app.read(move |view| run::find(view, &run_id)).await;
    let found = found.unwrap();
    assert_eq!(found.job, None);
    let agent = found.agent.unwrap();
    let qa = app
        .read(|view| agent::find(view, &"qa".parse().unwrap()))
        .await;
    assert_eq!(
        Some(agent),
        qa,
        "the agent itself works, not the command of the route"
    );
    assert!(requests.end_run(&run, Outcome::Completed, "by hand").await);
    assert_eq!(
        requests.find(&request).await.response.unwrap().as_str(),
        "by hand"
    );
    app.assert_invariants();
}

#[tokio::test]
async fn what_is_noticed_on_a_task_stands_in_its_history() {
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    let task_id: TaskId = app.task("a task").await.parse().unwrap();
    let request = requests
        .leave(on_task(&task_id, new_request("docs", "noticed")))
        .await;
    let history = app.read(move |view| task::history(view, &task_id)).await;
    let last = history.events.last().unwrap();
    assert_eq!(
        (last.event_type.as_str(), last.request_id.as_ref()),
        ("request_created", Some(&request.id))
    );
    let nowhere = on_task(&TaskId::new(), new_request("docs", "nowhere"));
    let refused = refusal(Requests(&app.db).leave_as(nowhere, Actor::Operator).await);
    assert!(matches!(refused, Refusal::TaskNotFound(_)), "{refused:?}");
    app.assert_invariants();
}
