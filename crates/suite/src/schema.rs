//! The JSON schema of suite files, for editors.

mod expressions;

use std::borrow::Cow;
use std::collections::BTreeMap;

use record::Verify;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

pub(crate) use expressions::condition;

use crate::position::{Located, Scalar};
use crate::spec::*;

impl<T: JsonSchema> JsonSchema for Located<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> Cow<'static, str> {
        "Scalar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number or a text; a template needs quotes: \"{{ width }}\".",
            "type": ["string", "number", "boolean"],
        })
    }
}

impl JsonSchema for StepSpec {
    fn schema_name() -> Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let scalar = generator.subschema_for::<Scalar>();
        let steps = generator.subschema_for::<Vec<StepSpec>>();
        json_schema!({
            "description": "One step: a request (a method in capitals, with its path), or tree, repeat, page, parts, choose, think, start, stop, when, end.",
            "type": "object",
            "patternProperties": { "^[A-Z][A-Z-]*$": scalar },
            "properties": {
                "tree": scalar,
                "repeat": scalar,
                "page": { "type": "string" },
                "parts": generator.subschema_for::<PartsSpec>(),
                "choose": generator.subschema_for::<Vec<ChoiceSpec>>(),
                "think": generator.subschema_for::<ThinkSpec>(),
                "start": { "type": "string" },
                "stop": { "type": "string" },
                "when": condition(generator),
                "end": generator.subschema_for::<EndSpec>(),
                "users": scalar,
                "query": scalar,
                "to": scalar,
                "depth": scalar,
                "width": scalar,
                "of": generator.subschema_for::<LeafSpec>(),
                "overwrite": { "type": "boolean" },
                "timeout": scalar,
                "headers": generator.subschema_for::<BTreeMap<String, Scalar>>(),
                "body": generator.subschema_for::<BodySpec>(),
                "expect": generator.subschema_for::<ExpectSpec>(),
                "unsupported": {
                    "type": "array",
                    "items": { "anyOf": [{ "type": "integer" }, { "type": "string", "pattern": "^no \\S+$" }] },
                },
                "save": generator.subschema_for::<BTreeMap<String, String>>(),
                "measure": { "type": "string" },
                "verify": generator.subschema_for::<Verify>(),
                "target": { "type": "string" },
                "as": { "type": "string" },
                "steps": steps,
                "else": generator.subschema_for::<Vec<StepSpec>>(),
            },
            "additionalProperties": false,
        })
    }
}

impl JsonSchema for BackgroundSpec {
    fn schema_name() -> Cow<'static, str> {
        "Background".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Background traffic beside the run: the name of a traffic file, or keys.",
            "anyOf": [{ "type": "string" }, generator.subschema_for::<BackgroundKeys>()],
        })
    }
}

impl JsonSchema for CaptureSpec {
    fn schema_name() -> Cow<'static, str> {
        "Capture".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Whether the packets of the run are kept in its record, and how much of them.",
            "anyOf": [{ "type": "boolean" }, generator.subschema_for::<CaptureKeys>()],
        })
    }
}

impl JsonSchema for ConstraintSpec {
    fn schema_name() -> Cow<'static, str> {
        "Constraint".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let expression = expressions::constraint(generator);
        json_schema!({
            "description": "What measurements must fulfil: an expression like `p99(Get) < 5 ms`, or keys.",
            "anyOf": [
                expression,
                {
                    "type": "object",
                    "properties": {
                        "expression": expression,
                        "abort": {
                            "type": "boolean",
                            "description": "The run ends when the constraint cannot be fulfilled any more.",
                        },
                    },
                    "required": ["expression"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}
