//! Adds to the OpenAPI document what all operations share, once instead of in every handler.

use super::text_patterns::forbid_nul;
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, RefOr, Required, ResponseBuilder};

/// Adds idempotency keys, shared error statuses, named schemas and the security scheme.
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
            operation.as_mut().map(describe_errors);
        }
    }
    if let Some(components) = &mut document.components {
        for (name, schema) in &mut components.schemas {
            name_data(name, schema);
            // The message of an error may quote anything.
            if !name.starts_with("Error") {
                forbid_nul(schema);
            }
            if let RefOr::T(Schema::Object(object)) = schema {
                object.properties.values_mut().for_each(merge_inlined);
            }
        }
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(
                "The content of `operator.token`. Required to configure agents, tools and routes, to approve requests, to resolve alerts, to retry increments, and to send and mark mail as `operator`; required for everything if the server listens beyond its own machine",
            ))
            .build();
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
    }
    let token = SecurityRequirement::new::<_, [&str; 0], &str>("token", []);
    document.security = Some(vec![SecurityRequirement::default(), token]);
}

/// Adds the idempotency key and its error statuses to an operation that changes something.
fn describe_change(operation: &mut Operation) {
    let key = ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "Repeating a request with the same key returns the first answer and changes nothing",
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
    add_error(
        operation,
        "400",
        "The request is not valid; the message names the fault",
    );
    add_error(
        operation,
        "409",
        "The `Idempotency-Key` was used for another request",
    );
    if operation.request_body.is_some() {
        add_error(operation, "408", "The body did not arrive in time");
        add_error(operation, "413", "The body is too large");
    }
}

/// Adds the error statuses that every operation can have.
fn describe_errors(operation: &mut Operation) {
    if operation.parameters.as_ref().is_some_and(|all| {
        all.iter().any(|parameter| {
            matches!(parameter, RefOr::T(parameter) if parameter.parameter_in == ParameterIn::Query)
        })
    }) {
        add_error(
            operation,
            "400",
            "A parameter is not valid; the message names it",
        );
    }
    add_error(
        operation,
        "401",
        "A token is required, or the token is unknown",
    );
    add_error(operation, "403", "The `Host` or `Origin` is not allowed");
    add_error(operation, "500", "Internal error; see the server log");
    add_error(
        operation,
        "503",
        "The server has too many connections, or its database cannot be used; `details.reason` says why, and `Retry-After` is sent if the reason may pass",
    );
}

/// Adds an error status, unless the handler documents it itself.
fn add_error(operation: &mut Operation, status: &str, description: &str) {
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("ErrorAnswer")))
        .build();
    let error = ResponseBuilder::new()
        .description(description)
        .content("application/json", content)
        .build();
    operation
        .responses
        .responses
        .entry(status.to_owned())
        .or_insert_with(|| error.into());
}

/// Makes the data of `Answer_Task` a reference to `Task`; the derive repeats the schema in full.
fn name_data(name: &str, schema: &mut RefOr<Schema>) {
    let Some(of) = name.strip_prefix("Answer_") else {
        return;
    };
    let RefOr::T(Schema::Object(answer)) = schema else {
        return;
    };
    // A nullable schema is more than a reference.
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

/// Repairs a field with an inlined enum. The derive writes it as `allOf` of the enum and a bare object with the description,
/// which no string satisfies.
fn merge_inlined(field: &mut RefOr<Schema>) {
    let RefOr::T(Schema::AllOf(all)) = field else {
        return;
    };
    let [
        RefOr::T(Schema::Object(inlined)),
        RefOr::T(Schema::Object(bare)),
    ] = &all.items[..]
    else {
        return;
    };
    if bare.properties.is_empty() {
        let mut merged = inlined.clone();
        merged.description.clone_from(&bare.description);
        *field = merged.into();
    }
}
