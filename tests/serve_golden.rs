//! The server answers what a real one answered about the same runs, to every question that was recorded.
//!
//! Needs the recorded runs: `../shared`, or where `MILES_SHARED` says.

// Helpers of tests may fail as tests do.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::server::{Response, Server};
use common::{Run, differs, golden};
use serde_json::{Value, json};

/// A cell of a heatmap may be one off: a reading on the border of two steps of its scale.
const CELL_TOLERANCE: u8 = 1;

fn conforms(name: &str, answers: usize) {
    let Some(golden) = golden() else { return };
    let folder = golden.join(name);
    let run = Run::copy(&folder.join("dump"));
    let server = Server::start(run.path(), &[]);
    let recorded = fs::read_to_string(folder.join("api.jsonl")).unwrap();
    let recorded: Vec<Value> = recorded.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(recorded.len(), answers, "{name}: another recording");
    // Twice: the second time most answers are kept ones.
    for round in ["first", "again"] {
        let wrong: Vec<String> = recorded.iter().filter_map(|recorded| wrong(&server, recorded)).collect();
        println!("{name}, {round}: {} of {answers} answers agree", answers - wrong.len());
        assert!(wrong.is_empty(), "{name}, {round}: {} differ\n{}", wrong.len(), wrong.join("\n"));
    }
}

fn wrong(server: &Server, recorded: &Value) -> Option<String> {
    let path = recorded["path"].as_str().unwrap();
    let response = server.get(path);
    let problem = match recorded["status"].as_u64().unwrap() {
        200 if response.status == 200 => answer_differs(&recorded["body"], &response),
        // What cannot be read may be called a bad request or unknown as well.
        422 if [400, 404, 422].contains(&response.status) => None,
        status if status == u64::from(response.status) => None,
        status => Some(format!("status {}, want {status}: {}", response.status, response.text())),
    };
    problem.map(|problem| format!("{path}: {}", problem.chars().take(300).collect::<String>()))
}

fn answer_differs(want: &Value, response: &Response) -> Option<String> {
    if response.header("content-type") == Some("application/octet-stream") {
        let (length, rest) = response.body.split_at(4);
        let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
        let header: Value = serde_json::from_slice(&rest[..length]).unwrap();
        let want_cells = decode(want["cells_base64"].as_str().unwrap());
        let cells = &rest[length..];
        if want_cells.len() != cells.len() {
            return Some(format!("{} cells, want {}", cells.len(), want_cells.len()));
        }
        let off = want_cells.iter().zip(cells).filter(|(a, b)| a.abs_diff(**b) > CELL_TOLERANCE).count();
        return if off > 0 { Some(format!("{off} cells differ")) } else { differs(&want["header"], &header) };
    }
    let mut want = want.clone();
    // How an advisory is worded is free; its level is not.
    for advisory in want.get_mut("advisories").and_then(Value::as_array_mut).into_iter().flatten() {
        advisory.as_object_mut().unwrap().remove("message");
    }
    differs(&want, &response.json())
}

/// Bytes of standard base64.
fn decode(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |c: u8| digits.iter().position(|d| *d == c).map(|v| v as u32);
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0_u32, 0);
    for value in text.bytes().map_while(value) {
        bits = (bits << 6 | value) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

#[test]
fn basic_is_answered_as_recorded() {
    conforms("basic", 224);
}

#[test]
fn dump_only_is_answered_as_recorded() {
    conforms("dump_only", 94);
}

#[test]
fn parallel_is_answered_as_recorded() {
    conforms("parallel", 94);
}

#[test]
fn edges_is_answered_as_recorded() {
    conforms("edges", 140);
}

#[test]
fn legacy_flat_is_answered_as_recorded() {
    conforms("legacy_flat", 140);
}

#[test]
fn a_difference_is_seen() {
    let response = |body: Value| Response { status: 200, headers: Vec::new(), body: body.to_string().into() };
    let want = json!({"a": [1.0, null], "advisories": [{"level": "info", "message": "m"}]});
    let near = json!({"a": [1.000_001, null], "advisories": [{"level": "info", "message": "n"}], "more": 1});
    assert_eq!(answer_differs(&want, &response(near)), None);
    for far in [json!({"a": [1.1, null], "advisories": [{"level": "info"}]}), json!({"a": [1.0, null]})] {
        assert!(answer_differs(&want, &response(far)).is_some());
    }
    assert_eq!(decode("AAEC/w=="), [0, 1, 2, 255]);
}
