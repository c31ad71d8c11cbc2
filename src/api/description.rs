//! What all operations have in common, added to the OpenAPI document once instead of to every handler.

use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, Required, ResponseBuilder};

/// Completes what the handlers say of themselves.
pub(super) fn complete(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        for operation in [
            &mut item.post,
            &mut item.put,
            &mut item.patch,
            &mut item.delete,
        ] {
            operation.as_mut().map(describe_change);
        }
        for operation in [
            &mut item.get,
            &mut item.post,
            &mut item.put,
            &mut item.patch,
            &mut item.delete,
        ] {
            operation.as_mut().map(describe_refusals);
        }
    }
    if let Some(components) = &mut document.components {
        for (name, schema) in &mut components.schemas {
            name_data(name, schema);
        }
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(
                "The word in `operator.token`; needed to approve requests, to set routes, and to send and mark mail as `operator`, and for everything when the server listens beyond its own machine",
            ))
            .build();
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
    }
    let token = SecurityRequirement::new::<_, [&str; 0], &str>("token", []);
    document.security = Some(vec![SecurityRequirement::default(), token]);
}

/// Adds what every request that changes something may carry, and how that is refused.
fn describe_change(operation: &mut Operation) {
    let key = ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "The same key with the same request answers the same and does nothing twice",
        ))
        .schema(Some(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .min_length(Some(1))
                .max_length(Some(255))
                .pattern(Some("^[!-~]+$")),
        ))
        .build();
    operation
        .parameters
        .get_or_insert_default()
        .push(key.into());
    add_refusal(
        operation,
        "400",
        "The request is wrong; the message says where",
    );
    add_refusal(
        operation,
        "409",
        "The `Idempotency-Key` was used for another request",
    );
    if operation.request_body.is_some() {
        add_refusal(operation, "413", "The body is too large");
    }
}

/// Adds how any request can be refused.
fn describe_refusals(operation: &mut Operation) {
    if operation.parameters.as_ref().is_some_and(|all| {
        all.iter().any(|parameter| {
            matches!(parameter, RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query)
        })
    }) {
        add_refusal(
            operation,
            "400",
            "A parameter is wrong; the message names it",
        );
    }
    add_refusal(operation, "401", "A token is needed, or is not known");
    add_refusal(operation, "403", "A foreign `Host` or `Origin`");
    add_refusal(operation, "500", "Something went wrong inside Chorus");
}

/// Adds a refusal, unless the handler itself says more about it.
fn add_refusal(operation: &mut Operation, status: &str, description: &str) {
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("ErrorAnswer")))
        .build();
    let refusal = ResponseBuilder::new()
        .description(description)
        .content("application/json", content)
        .build();
    operation
        .responses
        .responses
        .entry(status.to_owned())
        .or_insert_with(|| refusal.into());
}

/// Lets the data of `Answer_Task` refer to `Task`, which the derive repeats in full.
fn name_data(name: &str, schema: &mut RefOr<Schema>) {
    let Some(of) = name.strip_prefix("Answer_") else {
        return;
    };
    let RefOr::T(Schema::Object(answer)) = schema else {
        return;
    };
    // What may be null is more than what it refers to.
    if of.starts_with("Option_") {
        return;
    }
    let data = match of.strip_prefix("Vec_") {
        Some(item) => ArrayBuilder::new()
            .items(Ref::from_schema_name(item))
            .build()
            .into(),
        None => RefOr::Ref(Ref::from_schema_name(of)),
    };
    answer.properties.insert("data".to_owned(), data);
}
