//! From what a GPU said to lines on a pipe.

use super::{Process, Reading};
use crate::record::{GpuHealth, GpuProcess, GpuUtil, Record, Text, encode_piped};

/// Who was read, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header<'a> {
    /// Unix seconds.
    pub(super) ts: f64,
    pub(super) node: &'a str,
    pub(super) gpu: u32,
    pub(super) uuid: Option<&'a str>,
    pub(super) model: Option<&'a str>,
}

/// Appends the records of one reading. `gpu_util` cannot hold null: a reading that lacks one of its values
/// is left out of it, and false comes back.
pub(super) fn reading(header: Header<'_>, mut reading: Reading, out: &mut Vec<u8>) -> bool {
    let (ts, gpu) = (Some(header.ts), Some(i64::from(header.gpu)));
    let whole = reading.util.is_some() && reading.mem_mb.is_some() && reading.power_w.is_some();
    if whole {
        let Reading { util, mem_mb, power_w, .. } = reading;
        let node = Some(header.node.into());
        let record = GpuUtil { ts, node, gpu, util, mem_mb, power_w, extra: Vec::new() };
        encode_piped(&Record::GpuUtil(record), out);
    }
    if let Some(health) = reading.health.take() {
        // Not for ever: it borrows from here on.
        let mut health: Box<GpuHealth<'_>> = health;
        (health.ts, health.node, health.gpu) = (ts, Some(header.node.into()), gpu);
        health.uuid = header.uuid.map(Into::into);
        health.model = header.model.map(Into::into);
        (health.util, health.mem_mb, health.power_w) = (reading.util, reading.mem_mb, reading.power_w);
        health.throttle_reasons = reading.throttle_reasons.as_deref();
        encode_piped(&Record::GpuHealth(health), out);
    }
    whole
}

/// Appends the records of a GPU's processes. One without a name is called by its number. Nobody looks the
/// number up: in a container it can be the host's, and belong to somebody else here.
pub(super) fn processes(header: Header<'_>, processes: Vec<Process>, out: &mut Vec<u8>) {
    for process in processes {
        let name = process.name.unwrap_or_else(|| format!("pid {}", process.pid));
        let record = GpuProcess {
            ts: Some(header.ts),
            node: Some(header.node.into()),
            gpu: Some(i64::from(header.gpu)),
            pid: Some(process.pid),
            name: Some(Text(name.into())),
            mem_mb: process.mem_mb,
            extra: Vec::new(),
        };
        encode_piped(&Record::GpuProcess(record), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header<'_> = Header { ts: 1.5, node: "n", gpu: 3, uuid: Some("GPU-3"), model: None };

    fn lines(out: Vec<u8>) -> Vec<String> {
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_whole_reading_is_a_line_of_gpu_util() {
        let mut out = Vec::new();
        let whole =
            Reading { util: Some(90), mem_mb: Some(70_000), power_w: Some(650), ..Reading::default() };
        assert!(reading(HEADER, whole, &mut out));
        let line =
            r#"{"stream":"gpu_util","ts":1.5,"node":"n","gpu":3,"util":90,"mem_mb":70000,"power_w":650}"#;
        assert_eq!(lines(out), [line]);
    }

    #[test]
    fn a_reading_that_lacks_a_value_goes_to_gpu_health_alone() {
        let mut out = Vec::new();
        let part = Reading { util: Some(90), health: Some(Box::default()), ..Reading::default() };
        assert!(!reading(HEADER, part, &mut out));
        let lines = lines(out);
        assert_eq!(lines.len(), 1);
        let start = r#"{"stream":"gpu_health","ts":1.5,"node":"n","gpu":3,"uuid":"GPU-3","model":null,"#;
        assert!(lines[0].starts_with(start) && lines[0].contains(r#""util":90,"#), "{}", lines[0]);
        assert!(lines[0].contains(r#""power_w":null"#));
    }

    #[test]
    fn reasons_are_a_list_in_the_line() {
        let mut out = Vec::new();
        let reasons = serde_json::value::to_raw_value(&["gpu_idle"]).unwrap();
        let health = Box::new(GpuHealth { mig: Some(false), ..GpuHealth::default() });
        reading(
            HEADER,
            Reading { health: Some(health), throttle_reasons: Some(reasons), ..Reading::default() },
            &mut out,
        );
        assert!(lines(out)[0].contains(r#""throttle_reasons":["gpu_idle"]"#));
    }

    #[test]
    fn a_process_without_name_or_memory_keeps_its_keys() {
        let mut out = Vec::new();
        processes(HEADER, vec![Process { pid: 7, name: None, mem_mb: None }], &mut out);
        let line =
            r#"{"stream":"gpu_processes","ts":1.5,"node":"n","gpu":3,"pid":7,"name":"pid 7","mem_mb":null}"#;
        assert_eq!(lines(out), [line]);
    }
}
