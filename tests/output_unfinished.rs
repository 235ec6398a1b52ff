//! A process that is interrupted leaves no half-written file. Alone in its file, because the file being
//! written is known once a process.

use miles::output::{Column, Kind, Options, remove_unfinished_file};

#[test]
fn what_a_signal_handler_calls_removes_the_unfinished_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.csv");
    let entries = || std::fs::read_dir(dir.path()).unwrap().count();
    let options = Options { path: Some(path.clone()), ..Options::default() };

    let output = options.open(&[Column::new("n", Kind::Int)]).unwrap();
    assert_eq!(entries(), 1);
    remove_unfinished_file();
    assert_eq!(entries(), 0);
    drop(output);

    options.open(&[Column::new("n", Kind::Int)]).unwrap().finish().unwrap();
    remove_unfinished_file();
    assert!(path.exists(), "a finished file is not touched");
}
