"""Every line of the run's streams is, byte for byte, what Python's json makes of it.

Prints one line a stream: its name, its lines and the keys that they have.
"""

import json
import sys
from pathlib import Path

dashboard = Path(sys.argv[1]) / "dashboard"
text = (dashboard / "meta.json").read_text()
assert json.dumps(json.loads(text), indent=1) == text, "meta.json"
text = (dashboard / "lane_catalog.json").read_text()
assert json.dumps(json.loads(text)) == text, "lane_catalog.json"

seen = {}
for path in sorted(dashboard.rglob("*.jsonl")):
    stream = path.stem if path.parent == dashboard else path.parent.name
    for number, line in enumerate(path.read_text().splitlines(), 1):
        record = json.loads(line)
        assert json.dumps(record, separators=(",", ":")) == line, f"{path}:{number}"
        entry = seen.setdefault(stream, [0, set()])
        entry[0] += 1
        entry[1].add(tuple(record))
for stream, (lines, keys) in sorted(seen.items()):
    (only,) = keys
    print(json.dumps({"stream": stream, "lines": lines, "keys": only}))
