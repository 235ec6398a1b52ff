//! The scanner of the text format: tables of cases, a slow reference that it must agree with, and a promise
//! that no bytes make it panic. With `MILES_TEST_PYTHON` naming an interpreter that has prometheus_client, the
//! library with which engines write is asked too.

#![allow(clippy::unwrap_used)]

#[path = "common/metrics_reference.rs"]
mod reference;

use std::process::Command;

use miles::sglang::text::{Line, Lines, Sample};
use proptest::prelude::*;

use self::reference::Read;

/// `name|label=value,…|value` of the one sample of a text, or its reason.
fn one(text: &str) -> String {
    let lines: Vec<_> = Lines::new(text.as_bytes()).collect();
    assert_eq!(lines.len(), 1, "{text:?}: {lines:?}");
    match &lines[0] {
        Ok(Line::Sample(sample)) => {
            let labels: Vec<_> = sample.labels().map(|(n, v)| format!("{n}={v}")).collect();
            format!("{}|{}|{}", sample.name, labels.join(","), sample.value)
        }
        Ok(Line::Type(name, kind)) => format!("{name} is a {kind:?}"),
        Err(malformed) => malformed.to_string(),
    }
}

#[test]
fn samples_are_read_as_prometheus_reads_them() {
    for (text, wanted) in [
        ("up 1", "up||1"),
        ("sglang:x 2.4e+09\n", "sglang:x||2400000000"),
        ("x{} .5", "x||0.5"),
        ("\t x \t{\ta = \"b\"\t,\t}\t 1 \t", "x|a=b|1"),
        ("x{a=\"b\",c=\"d\",} 1 1395066363000", "x|a=b,c=d|1"),
        ("x{a=\"b\" c=\"d\"} 1", "x|a=b,c=d|1"),
        (r#"x{a="q\"u\\o\nte\x"} 1"#, "x|a=q\"u\\o\nte\\x|1"),
        (r#"x{a="{ a=\"b\", } 7 # {"} 1"#, "x|a={ a=\"b\", } 7 # {|1"),
        (r#"x{le="+Inf"}+Inf"#, "x|le=+Inf|inf"),
        ("x NaN", "x||NaN"),
        ("x -Inf", "x||-inf"),
        ("x{a=\"\"} 0x", "line 1: no value"),
        (r#"{"sglang:x",a="b"} 3"#, "sglang:x|a=b|3"),
        (r#"{"a.b"="c","x"} 3"#, "x|a.b=c|3"),
        ("x 1 1520879607.789 # {id=\"a b\"} 0.67 1.5", "x||1"),
        ("x_bucket{le=\"1\"} 17 # {id=\"}\"} 0.67", "x_bucket|le=1|17"),
        ("x{a=\"é\"} 1", "x|a=é|1"),
    ] {
        assert_eq!(one(text), wanted, "{text:?}");
    }
}

#[test]
fn a_malformed_line_is_counted_and_the_others_stay() {
    for bad in [
        "x",
        "x ",
        "x{",
        "x{a",
        "x{a=",
        "x{a=}",
        "x{a=\"b} 1",
        "x{a=\"b\\",
        "x{a=\"b\"} ",
        "x{,} 1",
        "x{a=\"b\",,} 1",
        "x{a='b'} 1",
        "x{1a=\"b\"} 1",
        "1x 1",
        "x 1 2 3",
        "x one",
        "x 1_0",
        "x 0x1p3",
        "x 1e999",
        "x -nan",
        "x +NaN",
        "x 1 now",
        "x{a:b=\"c\"} 1",
        "{a=\"b\"} 1",
        "x{\"y\"} 1",
        "x 1\r",
        "x 1 # 2",
        "x 1 # {} ",
        "# TYPE",
        "# TYPE x",
        "# TYPE 1 gauge",
        "# TYPE x gouge",
        "}",
        "=",
    ] {
        let text = format!("before 1\n{bad}\nafter 2\n");
        let lines: Vec<_> = Lines::new(text.as_bytes()).collect();
        if bad == "# TYPE" {
            assert_eq!(lines.len(), 2, "only a comment");
            continue;
        }
        assert_eq!(lines.len(), 3, "{bad:?}");
        assert!(lines[0].is_ok() && lines[2].is_ok(), "{bad:?}");
        assert_eq!(lines[1].as_ref().unwrap_err().line, 2, "{bad:?}: {:?}", lines[1]);
    }
    let invalid = b"x{a=\"\xff\"} 1\ny 2\n";
    let lines: Vec<_> = Lines::new(invalid).map(|line| line.is_ok()).collect();
    assert_eq!(lines, [false, true]);
}

#[test]
fn comments_say_nothing_but_types_do() {
    let text = "# HELP x TYPE of \\ thing\n#TYPE x gauge\n# EOF\n\n \t\n#\n# TYPES x gauge\n";
    assert_eq!(Lines::new(text.as_bytes()).count(), 0);
    assert_eq!(one("# TYPE  sglang:x \t histogram "), "sglang:x is a Histogram");
    assert_eq!(one("# TYPE \"a b\" counter"), "a b is a Counter");
    assert_eq!(one("# TYPE x unknown"), "x is a Other");
}

fn ours(text: &[u8]) -> Vec<Read> {
    let own = |labels: miles::sglang::text::Labels<'_>| labels.map(|(n, v)| (n.into(), v.into())).collect();
    let read = |line| match line {
        Ok(Line::Type(family, kind)) => Read::Type(family.into(), kind),
        Ok(Line::Sample(sample)) => {
            let Sample { name, value, .. } = &sample;
            Read::Sample { name: name.to_string(), labels: own(sample.labels()), value: format!("{value:?}") }
        }
        Err(_) => Read::Wrong,
    };
    Lines::new(text).map(read).collect()
}

/// Pieces of the format, in likely and unlikely order.
fn line() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(" ".to_owned()),
        Just("\t".to_owned()),
        "[a-z_:][a-z0-9_:]{0,4}",
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("=".to_owned()),
        Just(",".to_owned()),
        Just("# ".to_owned()),
        Just(" # {".to_owned()),
        "\"[a-z{} ,=#é]{0,6}\"",
        "\"(\\\\[\\\\n\"x]|[a-z]){0,4}\"",
        "[+-]?[0-9]{1,4}(\\.[0-9]{0,3})?(e[+-]?[0-9]{1,3})?",
        Just(" NaN".to_owned()),
        Just(" +Inf".to_owned()),
        Just(" -inf".to_owned()),
        Just("# TYPE x gauge".to_owned()),
        Just("# TYPE".to_owned()),
    ];
    let label = ("[a-z_][a-z0-9_]{0,3}", "(\\\\[\\\\n\"x]|[a-z{} ,=#é]){0,6}");
    let labels = prop::collection::vec(label, 0..4);
    let good = (
        "[a-z_:][a-z0-9_:]{0,6}",
        labels,
        prop_oneof![any::<f64>().prop_map(|v| v.to_string()), any::<i32>().prop_map(|v| v.to_string())],
        prop_oneof![Just(""), Just(" 17"), Just(" 1.5 # {a=\"b\"} 1 2"), Just("\t")],
        prop_oneof![Just(","), Just(" ,\t"), Just(" ")],
    )
        .prop_map(|(name, labels, value, end, comma)| {
            let labels: Vec<_> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
            format!("{name}{{{}}} {value}{end}", labels.join(comma))
        });
    prop_oneof![prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat()), good]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_scanner_reads_what_the_reference_reads(line in line()) {
        let wanted = reference::line(&line);
        let wanted: Vec<_> = Some(wanted).into_iter().filter(|read| *read != Read::Nothing).collect();
        prop_assert_eq!(ours(line.as_bytes()), wanted, "{:?}", line);
    }

    #[test]
    fn no_bytes_make_it_panic_and_every_line_is_by_itself(
        before in prop::collection::vec(any::<u8>(), 0..60),
        after in prop::collection::vec(prop::sample::select(b"ab_:{}=\",\\n# \t1.e+\n".to_vec()), 0..60),
    ) {
        let text = [before.as_slice(), b"\nx{a=\"b\"} 7\n", &after].concat();
        let lines = ours(&text);
        let here = Read::Sample {
            name: "x".to_owned(),
            labels: vec![("a".to_owned(), "b".to_owned())],
            value: "7.0".to_owned(),
        };
        prop_assert!(lines.contains(&here));
        let selection = miles::sglang::Selection::default();
        let _ = miles::sglang::read(&text, &selection, true);
    }
}

#[test]
fn what_the_library_of_the_engines_writes_is_read_as_it_reads_it() {
    let Some(python) = std::env::var_os("MILES_TEST_PYTHON") else {
        println!("skipped: MILES_TEST_PYTHON is not set");
        return;
    };
    let import = Command::new(&python).args(["-c", "import prometheus_client"]).output().unwrap();
    if !import.status.success() {
        println!("skipped: no prometheus_client: {}", String::from_utf8_lossy(&import.stderr));
        return;
    }
    let out = Command::new(&python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/sglang/odd_text.py"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    type Told = (String, Vec<(String, Vec<(String, String)>, String)>);
    let (text, wanted): Told = serde_json::from_slice(&out.stdout).unwrap();
    let number = |text: &str| text.parse::<f64>().unwrap().to_bits();
    let mut read: Vec<_> = ours(text.as_bytes())
        .into_iter()
        .filter_map(|read| match read {
            Read::Sample { name, mut labels, value } => {
                labels.sort();
                Some((name, labels, number(&value)))
            }
            Read::Type(..) => None,
            other => panic!("{other:?}"),
        })
        .collect();
    let mut wanted: Vec<_> =
        wanted.into_iter().map(|(name, labels, value)| (name, labels, number(&value))).collect();
    assert!(wanted.len() > 300);
    read.sort();
    wanted.sort();
    assert_eq!(read, wanted);
}
