//! Bounds, batches and what becomes of records between the two ends.

use super::*;

fn record(at: usize, hour: i64, body: &str) -> Ready<'_> {
    let (lane, series) = (Lane::None, None);
    Ready { at, hour: Some(hour), body: body.as_bytes(), lane, series, left_out: Vec::new() }
}

fn text(batch: &Batch) -> String {
    batch.chunks.iter().map(|chunk| String::from_utf8_lossy(chunk.lines()).into_owned()).collect()
}

fn push(buffer: &Buffer, at: usize, hour: i64, body: &str) -> u64 {
    buffer.lock().push(&record(at, hour, body))
}

#[test]
fn a_batch_is_all_that_goes_into_one_file_in_the_order_of_arrival() {
    let buffer = Buffer::new(100);
    for (hour, body) in [(1, "a}"), (2, "b}"), (1, "c}"), (2, "d}")] {
        push(&buffer, 0, hour, body);
    }
    let first = buffer.take(0).unwrap();
    assert_eq!((first.hour, text(&first).as_str(), first.records), (Some(1), "{a}\n{c}\n", 2));
    // What comes while it is out goes behind what waits.
    push(&buffer, 0, 1, "e}");
    buffer.give_back(0, &first, 0, 0, first.chunks.clone());
    let again = buffer.take(0).unwrap();
    assert_eq!(text(&again), "{a}\n{c}\n{e}\n");
    buffer.give_back(0, &again, 3, 0, Vec::new());
    assert_eq!(text(&buffer.take(0).unwrap()), "{b}\n{d}\n");
    assert!(buffer.take(0).is_none() && buffer.take(1).is_none());
    assert_eq!(buffer.tallies()[0], Tally { received: 5, written: 3, dropped: 0, waiting: 2 });
}

#[test]
fn at_the_bound_the_oldest_go_one_for_one_and_not_those_of_other_streams() {
    let buffer = Buffer::new(3);
    push(&buffer, 1, 1, "other}");
    let dropped: Vec<u64> = (0..5).map(|n| push(&buffer, 0, 1, &format!("{n}}}"))).collect();
    assert_eq!(dropped, [0, 0, 0, 1, 1]);
    assert_eq!(text(&buffer.take(0).unwrap()), "{2}\n{3}\n{4}\n");
    assert_eq!(text(&buffer.take(1).unwrap()), "{other}\n");
}

#[test]
fn what_the_writer_has_out_counts_and_stays() {
    let buffer = Buffer::new(3);
    assert_eq!((0..3).map(|n| push(&buffer, 0, 1, &format!("{n}}}"))).sum::<u64>(), 0);
    let out = buffer.take(0).unwrap();
    assert_eq!(push(&buffer, 0, 1, "3}"), 1);
    buffer.give_back(0, &out, 0, 0, out.chunks.clone());
    assert_eq!(push(&buffer, 0, 1, "4}"), 1);
    let tally = buffer.tallies()[0];
    assert_eq!((tally.received, tally.dropped, tally.waiting), (5, 2, 3));
    assert_eq!(text(&buffer.take(0).unwrap()), "{1}\n{2}\n{4}\n");
}

#[test]
fn memory_is_bounded_whatever_the_number_of_records() {
    let buffer = Buffer::new(1_000_000);
    let body = format!("{}}}", "x".repeat(900_000));
    let dropped: u64 = (0..200).map(|_| push(&buffer, 0, 1, &body)).sum();
    assert!(dropped >= 30, "{dropped}");
    assert!(buffer.memory() <= MAX_BYTES);
    while let Some(batch) = buffer.take(0) {
        buffer.give_back(0, &batch, batch.records, 0, Vec::new());
    }
    assert_eq!(buffer.memory(), 0);
}

#[test]
fn hours_in_any_order_are_gathered() {
    let buffer = Buffer::new(100_000);
    assert_eq!((0..1000).map(|n| push(&buffer, 0, n % 20, "x}")).sum::<u64>(), 0);
    let mut batches = 0;
    while let Some(batch) = buffer.take(0) {
        batches += 1;
        buffer.give_back(0, &batch, batch.records, 0, Vec::new());
    }
    assert_eq!(batches, 20);
    assert_eq!((buffer.memory(), buffer.tallies()[0].written), (0, 1000));
}

#[test]
fn lanes_that_are_on_disk_are_not_looked_at_again() {
    let buffer = Buffer::new(10);
    let push = |lane| buffer.lock().push(&Ready { lane, ..record(0, 1, "x}") });
    push(Lane::Known(b"n:0"));
    assert!(buffer.take(0).unwrap().chunks[0].lanes);
    buffer.settle([b"n:0".to_vec().into_boxed_slice()]);
    push(Lane::Known(b"n:0"));
    assert!(!buffer.take(0).unwrap().chunks[0].lanes);
    push(Lane::Unknown);
    assert!(buffer.take(0).unwrap().chunks[0].lanes);
}
