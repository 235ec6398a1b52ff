"""The run's arguments, as far as they may be shown to whoever looks at the run: scalars, and nothing that opens a door.

`meta.json` is served by a web server and copied with the run. So an argument whose name or value looks like a credential is left
out. A wrong guess costs one line in a header; the other way round costs a key.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Final

from .values import Scalar, plain_args

# Longer texts are prompts and templates, no settings that a header shows.
_MAX_TEXT: Final = 1024

# Words of a name, as parted by _ - . and capitals.
_SECRET_WORDS: Final = frozenset(
    "key keys apikey token secret secrets password passwd passphrase pwd pass pat credential credentials cred creds"
    " auth authorization bearer cookie cookies private signature webhook dsn".split()
)
# Names that would be shut out by a word, and hold the name of a column or a count: known arguments of the job.
_HARMLESS: Final = frozenset(
    "input_key label_key reward_key eval_reward_key eval_input_key eval_label_key tool_key eval_tool_key metadata_key"
    " multimodal_keys wandb_run_id".split()
)
_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

_SECRET_TEXTS: Final = re.compile(
    r"""
      -----BEGIN
    | \b(?:hf|gh[opsur]|glpat|github_pat|npm|pypi|dop_v1|wandb_v1)[_-][A-Za-z0-9_-]{16,}
    | \b(?:sk|pk|rk|xox[a-z])-[A-Za-z0-9_-]{16,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \bAIza[A-Za-z0-9_-]{30,}
    | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}
    | (?i:\bbearer\s+\S{8,})
    | (?i:[?&;](?:[\w.-]*(?:key|token|secret|password|sig|signature|auth))=)
    """,
    re.VERBOSE,
)
# Forty hex digits are what wandb's keys look like; commits do too, and say so in their name.
_HEX_KEY: Final = re.compile(r"(?<![0-9A-Za-z])(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64})(?![0-9A-Za-z])")
_HASH_WORDS: Final = frozenset("commit sha hash revision rev uuid".split())
_USER_INFO: Final = re.compile(r"(?<=://)[^/@\s]+@")


def curated(args: Any) -> dict[str, Scalar | None]:
    """Scalars of a namespace, a dataclass, or a mapping, without what looks like a secret."""
    kept: dict[str, Scalar | None] = {}
    for name, value in plain_args(_items(args)).items():
        if name.startswith("_") or is_secret(name, value):
            continue
        if isinstance(value, str):
            if len(value) > _MAX_TEXT:
                continue
            # http://user:password@host keeps its host.
            value = _USER_INFO.sub("", value)
        kept[name] = value
    return kept


def is_secret(name: str, value: Scalar | None) -> bool:
    """Whether an argument may be a credential, by its name or by its value."""
    words = [word.lower() for word in _WORDS.findall(name)]
    joined = "_".join(words)
    if joined not in _HARMLESS:
        if not _SECRET_WORDS.isdisjoint(words) or "api_key" in joined or "apikey" in joined or "secret" in joined:
            return True
        # max_tokens_per_gpu is a number; a text under such a name is none.
        if "tokens" in words and isinstance(value, str):
            return True
    if not isinstance(value, str):
        return False
    if _SECRET_TEXTS.search(value) is not None:
        return True
    return _HEX_KEY.search(value) is not None and _HASH_WORDS.isdisjoint(words)


def _items(args: Any) -> Mapping[str, object]:
    if isinstance(args, Mapping):
        return {str(name): value for name, value in args.items()}
    if dataclasses.is_dataclass(args) and not isinstance(args, type):
        return {field.name: getattr(args, field.name, None) for field in dataclasses.fields(args)}
    return dict(vars(args))
