//! Requests in the ledger: permissions, races, the order of dispatch, and recovery after a failure.

use chorus::domain::{
    Actor, Caller, ConversationHistory, KindMode, KindRule, NewRequest, Outcome, Priority, Refusal,
    Request, RequestId, RequestMove, RequestState, SessionId, SessionMove, Status, Task, TaskId,
};
use chorus::ledger::handoff::{self, MoveSession};
use chorus::ledger::{agent, request, run, task};
use chorus::store::StoreError;

use crate::support::requests::{
    LEASE, Requests, agent_rule, async_rule, new_request, on_task, person,
};
use crate::support::{TestApp, invariants};

async fn app_with_rules(rules: Vec<KindRule>) -> TestApp {
    let app = TestApp::new().await;
    Requests(&app.db).set_rules(rules).await;
    app
}

fn expect_refusal<T: std::fmt::Debug>(result: Result<T, StoreError>) -> Refusal {
    match result {
        Err(StoreError::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// Returns a request's state, its number of attempts, and whether it is stuck.
async fn state_of(requests: Requests<'_>, request: &Request) -> (RequestState, u32, bool) {
    let found = requests.find(request).await;
    (found.state, found.attempts, found.stuck)
}

#[tokio::test]
async fn a_request_goes_from_needs_to_done() {
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    let made = requests.create(new_request("fix", "a")).await;
    assert_eq!(made.state, RequestState::Needs);
    app.clock.advance(1);
    let approved = requests.approve(vec![made.id.clone()], Actor::Operator);
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
    let kept = requests
        .heartbeat(&made, Some(1))
        .await
        .unwrap()
        .lease
        .unwrap();
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
    let transitions: Vec<_> = done
        .transitions
        .iter()
        .map(|moved| (moved.to.as_str(), moved.by.as_str()))
        .collect();
    assert_eq!(
        transitions,
        [
            ("needs", "operator"),
            ("delegated", "operator"),
            ("claimed", "stranger"),
            ("done", "stranger")
        ]
    );
    assert_eq!(done.lease, None);
    // A request that is done stays done.
    for again in [
        expect_refusal(requests.claim(&made, "late").await.map(|_| ())),
        expect_refusal(
            requests
                .finish(&made, None, Actor::Operator)
                .await
                .map(|_| ()),
        ),
        expect_refusal(
            requests
                .requeue(&made, Some(1), Actor::Operator)
                .await
                .map(|_| ()),
        ),
        expect_refusal(
            requests
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
async fn one_of_two_hundred_claimers_wins_and_the_others_learn_its_name() {
    let app = TestApp::new().await;
    let request = Requests(&app.db)
        .create_approved(new_request("fix", "wanted"))
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
    let (mut winners, mut holders) = (Vec::new(), Vec::new());
    for claimer in claimers {
        match claimer.await.unwrap() {
            Ok(won) => winners.push(won.lease.unwrap().agent),
            Err(StoreError::Refused(Refusal::WrongState {
                holder,
                step: RequestMove::Claim,
                ..
            })) => holders.push(holder.unwrap()),
            Err(error) => panic!("{error:?}"),
        }
    }
    assert_eq!((winners.len(), holders.len()), (1, 199));
    assert!(holders.iter().all(|holder| *holder == winners[0]));
    assert_eq!(
        state_of(Requests(&app.db), &request).await,
        (RequestState::Claimed, 1, false)
    );
    app.assert_invariants();
}

#[tokio::test]
async fn a_stale_fencing_token_is_refused() {
    let again = KindRule {
        retry: true,
        ..agent_rule("fix", "qa")
    };
    let app = app_with_rules(vec![again]).await;
    let requests = Requests(&app.db);
    let request = requests.create_approved(new_request("fix", "a")).await;
    requests.claim(&request, "first").await.unwrap();
    app.clock.advance(LEASE);
    assert_eq!(requests.expire_leases().await, 1);
    let stale = |refused: Refusal, state: RequestState| {
        assert!(
            matches!(&refused, Refusal::StaleClaim { state: at, shown: 1, .. } if *at == state),
            "{refused:?}"
        );
    };
    stale(
        expect_refusal(requests.finish(&request, Some(1), person("first")).await),
        RequestState::Delegated,
    );
    requests.claim(&request, "second").await.unwrap();
    stale(
        expect_refusal(requests.finish(&request, Some(1), person("first")).await),
        RequestState::Claimed,
    );
    stale(
        expect_refusal(requests.heartbeat(&request, Some(1)).await),
        RequestState::Claimed,
    );
    stale(
        expect_refusal(requests.requeue(&request, Some(1), person("first")).await),
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
async fn a_bulk_approval_approves_all_requests_or_none() {
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    let mut ids = Vec::new();
    for title in ["a", "b", "c"] {
        ids.push(requests.create(new_request("fix", title)).await.id);
    }
    let done = requests
        .create_approved(new_request("fix", "approved"))
        .await;
    let number = app.last_event().await;
    let missing: RequestId = "missing".parse().unwrap();
    let bad = [&ids[..], &[done.id.clone(), missing]].concat();
    let Refusal::NotAll(problems) = expect_refusal(requests.approve(bad, Actor::Operator).await)
    else {
        panic!("another refusal than NotAll")
    };
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(app.last_event().await, number);
    // An id given twice is approved once.
    let twice = [&ids[..], &ids[..1]].concat();
    let approved = requests.approve(twice, Actor::Operator).await.unwrap();
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
async fn only_the_operator_or_a_file_moves_a_request_out_of_needs() {
    let app = app_with_rules(vec![agent_rule("fix", "qa")]).await;
    let requests = Requests(&app.db);
    let worked_on = requests
        .create_approved(new_request("fix", "worked on"))
        .await;
    let run = requests
        .claim_run(&requests.dispatch_one(&worked_on).await)
        .await;
    let request = requests.create(new_request("fix", "a")).await;
    let id = || request.id.clone();
    let others = [
        person("operator"),
        Actor::Run(run),
        Actor::Agent("qa".parse().unwrap()),
        Actor::Dispatcher,
    ];
    for by in others {
        let approve = requests.approve(vec![id()], by.clone()).await;
        let next = requests.leave_to_next(id(), by.clone()).await;
        let finish = requests.finish(&request, None, by.clone()).await;
        for refused in [
            expect_refusal(approve),
            expect_refusal(next),
            expect_refusal(finish),
        ] {
            assert_eq!(refused, Refusal::OperatorOnly, "{by:?}");
        }
    }
    assert!(matches!(
        expect_refusal(requests.claim(&request, "qa").await),
        Refusal::WrongState { .. }
    ));
    assert_eq!(
        state_of(requests, &request).await,
        (RequestState::Needs, 0, false)
    );
    requests
        .finish(&request, None, Actor::Operator)
        .await
        .unwrap();
    for by in [Actor::Operator, Actor::File] {
        let made = requests.create(new_request("fix", "b")).await;
        requests.approve(vec![made.id], by.clone()).await.unwrap();
        let made = requests.create(new_request("fix", "c")).await;
        requests.leave_to_next(made.id, by).await.unwrap();
    }
    app.assert_invariants();
}

#[tokio::test]
async fn a_request_with_an_expired_lease_is_retried_and_then_stuck() {
    let again = KindRule {
        retry: true,
        max_attempts: 2,
        ..agent_rule("fix", "qa")
    };
    let app = app_with_rules(vec![again, agent_rule("test", "qa")]).await;
    let requests = Requests(&app.db);
    let fix = requests.create_approved(new_request("fix", "a")).await;
    let test = requests.create_approved(new_request("test", "b")).await;
    for request in [&fix, &test] {
        requests.claim(request, "stranger").await.unwrap();
    }
    app.clock.advance(LEASE - 1);
    assert_eq!(requests.expire_leases().await, 0);
    requests.heartbeat(&test, None).await.unwrap();
    app.clock.advance(1);
    assert_eq!(app.read(request::due).await.lease, Some(app.clock.now()));
    assert_eq!(requests.expire_leases().await, 1);
    assert_eq!(
        state_of(requests, &fix).await,
        (RequestState::Delegated, 1, false)
    );
    assert_eq!(
        state_of(requests, &test).await,
        (RequestState::Claimed, 1, false)
    );
    requests.claim(&fix, "stranger").await.unwrap();
    app.clock.advance(LEASE);
    assert_eq!(requests.expire_leases().await, 2);
    // One has used all attempts; the other has no rule to retry, and waits for a person.
    assert_eq!(
        state_of(requests, &fix).await,
        (RequestState::Needs, 2, true)
    );
    assert_eq!(
        state_of(requests, &test).await,
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
            "Stopped after attempt 2: the request is stuck and waits for the operator"
        ]
    );
    // A person may start it again.
    requests
        .approve(vec![fix.id.clone()], Actor::Operator)
        .await
        .unwrap();
    assert_eq!(
        state_of(requests, &fix).await,
        (RequestState::Delegated, 2, false)
    );
    app.assert_invariants();
}

#[tokio::test]
async fn a_requeued_request_waits_for_a_person() {
    let again = KindRule {
        retry: true,
        max_attempts: 9,
        ..agent_rule("fix", "qa")
    };
    let app = app_with_rules(vec![again]).await;
    let requests = Requests(&app.db);
    let claimed = requests
        .create_approved(new_request("fix", "claimed"))
        .await;
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
    // A requeue by the operator also ends the hand-off, whose run is no longer wanted.
    let dispatched = requests
        .create_approved(new_request("fix", "dispatched"))
        .await;
    let task = requests.dispatch_one(&dispatched).await;
    let run = requests.claim_run(&task).await;
    let ended = requests
        .requeue(&dispatched, None, Actor::Operator)
        .await
        .unwrap();
    assert_eq!(
        (ended.request.state, ended.unwanted),
        (RequestState::Needs, Some(run.run_id.clone()))
    );
    let task = find_task(&app, &task).await;
    assert_eq!(
        task.agent_chain()[0].end.as_ref().unwrap().outcome,
        Outcome::Cancelled
    );
    assert!(!requests.end_run(&run, Outcome::Cancelled, "stopped").await);
    // A requeue by its own agent lets the run continue.
    let own = requests.create_approved(new_request("fix", "own")).await;
    let task = requests.dispatch_one(&own).await;
    let run = requests.claim_run(&task).await;
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
        state_of(requests, &own).await,
        (RequestState::Needs, 1, false)
    );
    app.assert_invariants();
}

#[tokio::test]
async fn requests_are_dispatched_by_priority_then_rank_then_age() {
    let early = KindRule {
        rank: 0.5,
        ..agent_rule("early", "qa")
    };
    let interactive = KindRule {
        mode: KindMode::Interactive,
        rank: 0.0,
        ..agent_rule("talk", "qa")
    };
    let app = app_with_rules(vec![agent_rule("late", "qa"), early, interactive]).await;
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
            .create_approved(NewRequest {
                priority,
                ..new_request(kind, title)
            })
            .await;
    }
    requests
        .create(new_request("early", "is not approved"))
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
async fn a_request_that_was_claimed_meanwhile_is_not_dispatched() {
    let app = app_with_rules(vec![agent_rule("fix", "qa")]).await;
    let requests = Requests(&app.db);
    let first = requests.create_approved(new_request("fix", "a")).await;
    let second = requests.create_approved(new_request("fix", "b")).await;
    requests.claim(&second, "faster").await.unwrap();
    let number = app.last_event().await;
    assert_eq!(requests.dispatch(&[&first, &second]).await.unwrap(), None);
    assert_eq!(app.last_event().await, number);
    assert_eq!(
        state_of(requests, &first).await,
        (RequestState::Delegated, 0, false)
    );
    // Nor is a request left to the next claimer, one without a rule, or one whose agent is not available.
    let next = requests.create(new_request("fix", "c")).await;
    requests
        .leave_to_next(next.id.clone(), Actor::Operator)
        .await
        .unwrap();
    assert_eq!(requests.dispatch(&[&next]).await.unwrap(), None);
    let nobody = requests.create_approved(new_request("nobody", "d")).await;
    assert_eq!(requests.dispatch(&[&nobody]).await.unwrap(), None);
    invariants::open(&app.data_dir.database())
        .execute("UPDATE agents SET available = 0", [])
        .unwrap();
    assert!(matches!(
        expect_refusal(requests.dispatch(&[&first]).await),
        Refusal::AgentUnavailable(_)
    ));
    assert_eq!(
        app.read(move |view| request::next_to_dispatch(view, 10))
            .await,
        []
    );
    app.assert_invariants();
}

async fn find_task(app: &TestApp, task: &Task) -> Task {
    let id = task.id.clone();
    app.read(move |view| task::get(view, &id)).await
}

/// Dispatches a request and ends its run.
async fn run_to_end(app: &TestApp, request: &Request, outcome: Outcome) -> Task {
    let requests = Requests(&app.db);
    let task = requests.dispatch_one(request).await;
    let run = requests.claim_run(&task).await;
    assert!(requests.end_run(&run, outcome, "the end").await);
    find_task(app, &task).await
}

#[tokio::test]
async fn the_outcome_of_a_handoff_decides_the_state_of_its_request() {
    let app = app_with_rules(vec![KindRule {
        retry: true,
        max_attempts: 3,
        ..agent_rule("fix", "qa")
    }])
    .await;
    let requests = Requests(&app.db);
    let request = requests.create_approved(new_request("fix", "a")).await;
    let failed = run_to_end(&app, &request, Outcome::Failed).await;
    assert_eq!(failed.status, Status::Waiting);
    assert_eq!(
        state_of(requests, &request).await,
        (RequestState::Delegated, 1, false)
    );
    // The next attempt continues on the same task.
    let interrupted = run_to_end(&app, &request, Outcome::Interrupted).await;
    assert_eq!(
        (&interrupted.id, interrupted.agent_chain().len()),
        (&failed.id, 2)
    );
    assert_eq!(
        state_of(requests, &request).await,
        (RequestState::Delegated, 2, false)
    );
    let done = run_to_end(&app, &request, Outcome::Completed).await;
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
    // A cancelled hand-off is not retried without a person.
    let request = requests.create_approved(new_request("fix", "b")).await;
    run_to_end(&app, &request, Outcome::Cancelled).await;
    assert_eq!(
        state_of(requests, &request).await,
        (RequestState::Needs, 1, false)
    );
    // An outside completion or cancellation ends the request as well.
    for (outcome, state) in [
        (Outcome::Completed, RequestState::Done),
        (Outcome::Cancelled, RequestState::Needs),
    ] {
        let request = requests.create_approved(new_request("fix", "c")).await;
        let task_id = requests.dispatch_one(&request).await.id;
        let output = "said".parse().unwrap();
        let ended = app.write(move |tx| match outcome {
            Outcome::Completed => handoff::complete(tx, &task_id, &output),
            _ => handoff::cancel(tx, &task_id, Some(&output)),
        });
        ended.await.unwrap();
        assert_eq!(state_of(requests, &request).await, (state, 1, false));
    }
    // After the last attempt the request is stuck.
    let request = requests.create_approved(new_request("fix", "d")).await;
    for _ in 0..3 {
        run_to_end(&app, &request, Outcome::TimedOut).await;
    }
    assert_eq!(
        state_of(requests, &request).await,
        (RequestState::Needs, 3, true)
    );
    assert_eq!(app.read(request::overview).await.stuck.len(), 1);
    app.assert_invariants();
}

#[tokio::test]
async fn an_outside_answer_ends_the_handoff_and_the_agents_own_answer_does_not() {
    let app = app_with_rules(vec![agent_rule("fix", "qa")]).await;
    let requests = Requests(&app.db);
    let request = requests.create_approved(new_request("fix", "a")).await;
    let task = requests.dispatch_one(&request).await;
    let run = requests.claim_run(&task).await;
    let ended = requests
        .finish(&request, None, Actor::Operator)
        .await
        .unwrap();
    assert_eq!(ended.unwanted, Some(run.run_id));
    let task = find_task(&app, &task).await;
    assert_eq!(
        (task.current_agent(), &task.status),
        (None, &Status::Completed)
    );
    let request = requests.create_approved(new_request("fix", "b")).await;
    let task = requests.dispatch_one(&request).await;
    let run = requests.claim_run(&task).await;
    // Another run may not answer it.
    let other = requests.create_approved(new_request("fix", "c")).await;
    let other_run = requests
        .claim_run(&requests.dispatch_one(&other).await)
        .await;
    let stranger = chorus::domain::RunIdentity {
        agent_name: "planner".parse().unwrap(),
        ..other_run
    };
    let refused = expect_refusal(requests.finish(&request, None, Actor::Run(stranger)).await);
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
    assert!(find_task(&app, &task).await.current_agent().is_some());
    assert!(requests.end_run(&run, Outcome::Completed, "later").await);
    assert_eq!(
        requests.find(&request).await.response.unwrap().as_str(),
        "answered"
    );
    assert_eq!(find_task(&app, &task).await.status, Status::Completed);
    app.assert_invariants();
}

#[tokio::test]
async fn a_transfer_takes_the_request_along() {
    let app = app_with_rules(vec![agent_rule("fix", "developer")]).await;
    let requests = Requests(&app.db);
    requests.create_tool("to_qa", "qa").await;
    for (outcome, state) in [
        (Outcome::Completed, RequestState::Done),
        (Outcome::Failed, RequestState::Needs),
    ] {
        let request = requests.create_approved(new_request("fix", "a")).await;
        let task = requests.dispatch_one(&request).await;
        let run = requests.claim_run(&task).await;
        let child = requests
            .transfer(&task.id, "to_qa", Some(run.clone()))
            .await;
        let found = requests.find(&request).await;
        assert_eq!(found.state, RequestState::Claimed);
        assert_eq!(found.handoff_id.as_ref(), Some(&child.agent_chain()[0].id));
        // The end of the first agent's process changes nothing.
        assert!(
            !requests
                .end_run(&run, Outcome::Completed, "passed on")
                .await
        );
        assert_eq!(
            state_of(requests, &request).await,
            (RequestState::Claimed, 1, false)
        );
        let run = requests.claim_run(&child).await;
        assert!(requests.end_run(&run, outcome, "by the last").await);
        assert_eq!(state_of(requests, &request).await, (state, 1, false));
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
async fn a_run_that_starts_a_session_keeps_its_request() {
    let app = app_with_rules(vec![agent_rule("fix", "developer")]).await;
    let requests = Requests(&app.db);
    for invoke in [true, false] {
        let request = requests.create_approved(new_request("fix", "a")).await;
        let task = requests.dispatch_one(&request).await;
        let run = requests.claim_run(&task).await;
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
            state_of(requests, &request).await,
            (RequestState::Done, 1, false)
        );
    }
    app.assert_invariants();
}

#[tokio::test]
async fn a_batch_is_one_handoff_and_its_requests_end_separately() {
    let app = app_with_rules(vec![KindRule {
        batch: true,
        ..agent_rule("fix", "qa")
    }])
    .await;
    let requests = Requests(&app.db);
    let mut batch = Vec::new();
    for title in ["a", "b", "c"] {
        batch.push(requests.create_approved(new_request("fix", title)).await);
    }
    let all: Vec<_> = batch.iter().collect();
    let task = requests.dispatch(&all).await.unwrap().unwrap();
    assert_eq!(task.agent_chain().len(), 1);
    let run = requests.claim_run(&task).await;
    // The agent answers one and the operator another; the hand-off continues for the third.
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
    assert_eq!(find_task(&app, &task).await.status, Status::Completed);
    // A request given twice is dispatched once.
    let twice = requests.create_approved(new_request("fix", "d")).await;
    requests.dispatch(&[&twice, &twice]).await.unwrap().unwrap();
    assert_eq!(
        state_of(requests, &twice).await,
        (RequestState::Claimed, 1, false)
    );
    app.assert_invariants();
}

#[tokio::test]
async fn a_job_continues_after_its_start_command_has_ended() {
    let app = app_with_rules(vec![async_rule("build")]).await;
    let requests = Requests(&app.db);
    for (outcome, state) in [
        (Outcome::Completed, RequestState::Done),
        (Outcome::Failed, RequestState::Needs),
    ] {
        let request = requests.create_approved(new_request("build", "a")).await;
        let task = requests.dispatch_one(&request).await;
        let run = requests.claim_run(&task).await;
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
        assert!(find_task(&app, &task).await.current_agent().is_some());
        // The server renews its lease.
        app.clock.advance(LEASE);
        assert_eq!(requests.expire_leases().await, 0);
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
        assert!(!end(job).await.unwrap(), "a job ends once");
        assert_eq!(state_of(requests, &request).await, (state, 1, false));
        assert!(app.read(request::list_jobs).await.is_empty());
    }
    app.assert_invariants();
}

#[tokio::test]
async fn a_job_that_is_transferred_to_an_agent_is_no_longer_a_job() {
    let app = app_with_rules(vec![async_rule("build")]).await;
    let requests = Requests(&app.db);
    requests.create_tool("to_qa", "qa").await;
    let request = requests.create_approved(new_request("build", "a")).await;
    let task = requests.dispatch_one(&request).await;
    let run = requests.claim_run(&task).await;
    requests.end_run(&run, Outcome::Completed, "job-7").await;
    let child = requests.transfer(&task.id, "to_qa", None).await;
    assert_eq!(app.read(request::list_jobs).await, []);
    app.assert_invariants();
    let run = requests.claim_run(&child).await;
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
async fn a_request_noticed_on_a_task_is_in_the_tasks_history() {
    let app = TestApp::new().await;
    let requests = Requests(&app.db);
    let task_id: TaskId = app.task("a task").await.parse().unwrap();
    let request = requests
        .create(on_task(&task_id, new_request("docs", "noticed")))
        .await;
    let history = app.read(move |view| task::history(view, &task_id, 0)).await;
    let last = history.items.last().unwrap();
    assert_eq!(
        (last.event_type.as_str(), last.request_id.as_ref()),
        ("request_created", Some(&request.id))
    );
    let nowhere = on_task(&TaskId::new(), new_request("docs", "nowhere"));
    let refused = expect_refusal(requests.create_as(nowhere, Actor::Operator).await);
    assert!(matches!(refused, Refusal::TaskNotFound(_)), "{refused:?}");
    app.assert_invariants();
}
