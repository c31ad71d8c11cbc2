//! Patterns of texts in the OpenAPI document: no text may have a NUL character.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ArrayItems, Object, Schema, SchemaType, Type};

const WITHOUT_NUL: &str = r"^[^\x00]*$";

/// The pattern of a field that must not be blank.
const NOT_BLANK: &str = r"\S";

const NOT_BLANK_WITHOUT_NUL: &str = r"^[^\x00]*[^\s\x00][^\x00]*$";

/// Adds the pattern to every text of a schema that has no stricter one.
pub(super) fn forbid_nul(schema: &mut RefOr<Schema>) {
    let RefOr::T(schema) = schema else {
        return;
    };
    match schema {
        Schema::Object(object) => {
            forbid_in_text(object);
            object.properties.values_mut().for_each(forbid_nul);
            if let Some(AdditionalProperties::RefOr(values)) =
                object.additional_properties.as_deref_mut()
            {
                forbid_nul(values);
            }
        }
        Schema::Array(array) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                forbid_nul(items);
            }
        }
        Schema::OneOf(one) => one.items.iter_mut().for_each(forbid_nul),
        Schema::AllOf(all) => all.items.iter_mut().for_each(forbid_nul),
        Schema::AnyOf(any) => any.items.iter_mut().for_each(forbid_nul),
        _ => {}
    }
}

fn forbid_in_text(object: &mut Object) {
    let is_text = match &object.schema_type {
        SchemaType::Type(one) => *one == Type::String,
        SchemaType::Array(types) => types.contains(&Type::String),
        SchemaType::AnyValue => false,
    };
    if !is_text || object.enum_values.is_some() || object.format.is_some() {
        return;
    }
    match object.pattern.as_deref() {
        None => object.pattern = Some(WITHOUT_NUL.to_owned()),
        Some(NOT_BLANK) => object.pattern = Some(NOT_BLANK_WITHOUT_NUL.to_owned()),
        Some(_) => {}
    }
}
