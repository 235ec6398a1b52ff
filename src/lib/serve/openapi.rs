//! `/api/openapi.json`: the description of this API, checked against its routes here and against the
//! running server by tests/interop.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::answer::Content;
use super::{App, Problem};

const DOCUMENT: &str = include_str!("openapi.json");
/// What the document says in place of the version.
const VERSION: &str = "\"version\": \"0.0.0\"";

/// The handler.
pub(super) async fn openapi(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    let work = |_: &App| {
        let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
        Ok(Content::json_text(DOCUMENT.replacen(VERSION, &version, 1)))
    };
    app.reply(&headers, "openapi", 0, work).await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::serve::routes::ROUTES;

    #[test]
    fn the_document_describes_every_route_and_no_other() {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap();
        let described: BTreeSet<&str> =
            document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(described, ROUTES.iter().map(|route| route.path).collect());
        assert!(DOCUMENT.contains(VERSION));
    }

    #[test]
    fn the_page_for_people_describes_every_route() {
        let page = include_str!("../../../docs/http.md");
        for route in ROUTES {
            let path = route.path.replace("{rollout_id}", "RID").replace("{sample_index}", "I");
            assert!(page.contains(&format!("`{path}`")), "{path}");
        }
    }

    #[test]
    fn parameters_of_a_path_are_those_in_its_braces_and_references_lead_somewhere() {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap();
        fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
            match value {
                Value::Object(map) => {
                    found.extend(map.get("$ref").and_then(Value::as_str));
                    map.values().for_each(|v| references(v, found));
                }
                Value::Array(list) => list.iter().for_each(|v| references(v, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        references(&document, &mut found);
        for reference in found {
            let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer));
            assert!(target.is_some(), "{reference}");
        }
        for (path, item) in document["paths"].as_object().unwrap() {
            let parameters = item["get"]["parameters"].as_array().cloned().unwrap_or_default();
            let resolved = parameters.iter().map(|p| match p["$ref"].as_str() {
                Some(reference) => document.pointer(&reference[1..]).unwrap(),
                None => p,
            });
            let named: BTreeSet<&str> =
                resolved.filter(|p| p["in"] == "path").map(|p| p["name"].as_str().unwrap()).collect();
            let braces = path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap());
            assert_eq!(named, braces.collect(), "{path}");
        }
    }
}
