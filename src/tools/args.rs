//! The arguments of a tool call: lenient about their form, strict about paths, with errors that the model can
//! understand.
//! Not for: opening files.

use super::ToolFailure;
use serde_json::{Map, Value};
use std::path::{Component, Path, PathBuf};

/// The arguments of one call.
pub(super) struct Args(Map<String, Value>);

impl Args {
    /// Parses the received text. Empty text and `null` count as an empty object.
    pub(super) fn parse(text: &str) -> Result<Self, ToolFailure> {
        let text = text.trim();
        if text.is_empty() || text == "null" {
            return Ok(Self(Map::new()));
        }
        let value = serde_json::from_str(text)
            .map_err(|error| ToolFailure::Failed(format!("The arguments are not valid JSON: {error}.")))?;
        // Some models send the object as a JSON string.
        let value =
            if let Value::String(inner) = value { serde_json::from_str(&inner).unwrap_or_default() } else { value };
        match value {
            Value::Object(object) => Ok(Self(object)),
            _ => Err(ToolFailure::Failed("The arguments must be a JSON object.".into())),
        }
    }

    /// Returns an optional string.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, ToolFailure> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(ToolFailure::Failed(format!("The argument {name} must be a string."))),
        }
    }

    /// Returns a required string, which must not be empty.
    pub(super) fn needed(&self, name: &str) -> Result<&str, ToolFailure> {
        self.text(name)?
            .filter(|text| !text.is_empty())
            .ok_or_else(|| ToolFailure::Failed(format!("The argument {name} is missing.")))
    }

    /// Returns an optional whole number of at least 1. A number in a string is accepted.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, ToolFailure> {
        let number = match self.0.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Number(number)) => number.as_u64().or_else(|| number.as_f64().and_then(whole)),
            Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        match number {
            Some(number) if number > 0 => Ok(Some(number)),
            _ => Err(ToolFailure::Failed(format!("The argument {name} must be a whole number of at least 1."))),
        }
    }

    /// Returns an optional boolean; false by default.
    pub(super) fn flag(&self, name: &str) -> Result<bool, ToolFailure> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(yes)) => Ok(*yes),
            Some(Value::String(text)) if matches!(text.as_str(), "true" | "false") => Ok(text == "true"),
            Some(_) => Err(ToolFailure::Failed(format!("The argument {name} must be true or false."))),
        }
    }

    /// Returns an optional list of objects. A list in a string and a single object are accepted.
    pub(super) fn list(&self, name: &str) -> Result<Option<Vec<Self>>, ToolFailure> {
        let wrong = || ToolFailure::Failed(format!("The argument {name} must be a list of objects."));
        let each = |values: &[Value]| -> Result<Vec<Self>, ToolFailure> {
            values.iter().map(|value| value.as_object().cloned().map(Self).ok_or_else(wrong)).collect()
        };
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(values)) => each(values).map(Some),
            Some(Value::Object(object)) => Ok(Some(vec![Self(object.clone())])),
            Some(Value::String(text)) => {
                let values: Vec<Value> = serde_json::from_str(text).map_err(|_| wrong())?;
                each(&values).map(Some)
            }
            Some(_) => Err(wrong()),
        }
    }

    /// Returns the argument `path`, relative to the root; empty for the root itself.
    pub(super) fn path(&self) -> Result<PathBuf, ToolFailure> {
        self.path_named("path")
    }

    /// Returns a path argument, relative to the root; empty for the root itself.
    pub(super) fn path_named(&self, name: &str) -> Result<PathBuf, ToolFailure> {
        beneath(self.text(name)?.unwrap_or_default())
    }
}

/// Normalizes a path and refuses one that is absolute or contains `..`.
pub(super) fn beneath(text: &str) -> Result<PathBuf, ToolFailure> {
    let mut path = PathBuf::new();
    if text.contains('\0') {
        return Err(ToolFailure::Refused("The path contains a NUL.".into()));
    }
    for component in Path::new(text).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                return Err(ToolFailure::Refused(
                    "The path contains \"..\"; paths are relative to the workspace root.".into(),
                ));
            }
            Component::RootDir | Component::Prefix(_) => {
                return Err(ToolFailure::Refused(
                    "The path is absolute; paths are relative to the workspace root.".into(),
                ));
            }
        }
    }
    Ok(path)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole and in range before")]
fn whole(number: f64) -> Option<u64> {
    ((0.0..9e15).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}
