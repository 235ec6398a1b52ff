#compdef miles-dump

autoload -U is-at-least

_miles-dump() {
    typeset -A opt_args
    typeset -a _arguments_options
    local ret=1

    if is-at-least 5.2; then
        _arguments_options=(-s -S -C)
    else
        _arguments_options=(-s -C)
    fi

    local context curcontext="$curcontext" state line
    _arguments "${_arguments_options[@]}" : \
'-d+[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--format=[Format of the rows \[default\: from the ending of -o, else a table on a terminal, else ndjson\]]:FORMAT:(ndjson json csv parquet table)' \
'-o+[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'--output=[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'*--columns=[Only these columns, in this order]:A,B,…:_default' \
'--limit=[At most N rows]:N:_default' \
'--color=[Colour in tables]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--cache-dir=[Where summaries are kept \[default\: dashboard/cache in the run directory\]]:DIR:_files' \
'(-v --verbose)-q[No progress bar and no notes on stderr; errors stay]' \
'(-v --verbose)--quiet[No progress bar and no notes on stderr; errors stay]' \
'*-v[Say on stderr what is read and skipped; -vv says more]' \
'*--verbose[Say on stderr what is read and skipped; -vv says more]' \
'(--cache-dir)--no-cache[Neither read nor write kept summaries]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_miles-dump_commands" \
"*::: :->miles-dump" \
&& ret=0
    case $state in
    (miles-dump)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:miles-dump-command-$line[1]:"
        case $line[1] in
            (ids)
_arguments "${_arguments_options[@]}" : \
'-d+[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--format=[Format of the rows \[default\: from the ending of -o, else a table on a terminal, else ndjson\]]:FORMAT:(ndjson json csv parquet table)' \
'-o+[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'--output=[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'*--columns=[Only these columns, in this order]:A,B,…:_default' \
'--limit=[At most N rows]:N:_default' \
'--color=[Colour in tables]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--cache-dir=[Where summaries are kept \[default\: dashboard/cache in the run directory\]]:DIR:_files' \
'(-v --verbose)-q[No progress bar and no notes on stderr; errors stay]' \
'(-v --verbose)--quiet[No progress bar and no notes on stderr; errors stay]' \
'*-v[Say on stderr what is read and skipped; -vv says more]' \
'*--verbose[Say on stderr what is read and skipped; -vv says more]' \
'(--cache-dir)--no-cache[Neither read nor write kept summaries]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(steps)
_arguments "${_arguments_options[@]}" : \
'-d+[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--format=[Format of the rows \[default\: from the ending of -o, else a table on a terminal, else ndjson\]]:FORMAT:(ndjson json csv parquet table)' \
'-o+[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'--output=[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'*--columns=[Only these columns, in this order]:A,B,…:_default' \
'--limit=[At most N rows]:N:_default' \
'--color=[Colour in tables]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--cache-dir=[Where summaries are kept \[default\: dashboard/cache in the run directory\]]:DIR:_files' \
'(-v --verbose)-q[No progress bar and no notes on stderr; errors stay]' \
'(-v --verbose)--quiet[No progress bar and no notes on stderr; errors stay]' \
'*-v[Say on stderr what is read and skipped; -vv says more]' \
'*--verbose[Say on stderr what is read and skipped; -vv says more]' \
'(--cache-dir)--no-cache[Neither read nor write kept summaries]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(summary)
_arguments "${_arguments_options[@]}" : \
'-d+[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--format=[Format of the rows \[default\: from the ending of -o, else a table on a terminal, else ndjson\]]:FORMAT:(ndjson json csv parquet table)' \
'-o+[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'--output=[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'*--columns=[Only these columns, in this order]:A,B,…:_default' \
'--limit=[At most N rows]:N:_default' \
'--color=[Colour in tables]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--cache-dir=[Where summaries are kept \[default\: dashboard/cache in the run directory\]]:DIR:_files' \
'--eval[The evaluation steps instead of the train steps]' \
'(-v --verbose)-q[No progress bar and no notes on stderr; errors stay]' \
'(-v --verbose)--quiet[No progress bar and no notes on stderr; errors stay]' \
'*-v[Say on stderr what is read and skipped; -vv says more]' \
'*--verbose[Say on stderr what is read and skipped; -vv says more]' \
'(--cache-dir)--no-cache[Neither read nor write kept summaries]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':steps -- Rollout id\: a number, '\''latest'\'', a range 3-7 or a list 3,5,9-12:_default' \
&& ret=0
;;
(groups)
_arguments "${_arguments_options[@]}" : \
'-d+[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--format=[Format of the rows \[default\: from the ending of -o, else a table on a terminal, else ndjson\]]:FORMAT:(ndjson json csv parquet table)' \
'-o+[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'--output=[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'*--columns=[Only these columns, in this order]:A,B,…:_default' \
'--limit=[At most N rows]:N:_default' \
'--color=[Colour in tables]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--cache-dir=[Where summaries are kept \[default\: dashboard/cache in the run directory\]]:DIR:_files' \
'--eval[The evaluation steps instead of the train steps]' \
'(-v --verbose)-q[No progress bar and no notes on stderr; errors stay]' \
'(-v --verbose)--quiet[No progress bar and no notes on stderr; errors stay]' \
'*-v[Say on stderr what is read and skipped; -vv says more]' \
'*--verbose[Say on stderr what is read and skipped; -vv says more]' \
'(--cache-dir)--no-cache[Neither read nor write kept summaries]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':steps -- Rollout id\: a number, '\''latest'\'', a range 3-7 or a list 3,5,9-12:_default' \
&& ret=0
;;
(samples)
_arguments "${_arguments_options[@]}" : \
'*--with=[Per-token lists to add, such as tokens,loss_mask,rollout_log_probs]:KEY,…:_default' \
'-d+[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--format=[Format of the rows \[default\: from the ending of -o, else a table on a terminal, else ndjson\]]:FORMAT:(ndjson json csv parquet table)' \
'-o+[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'--output=[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'*--columns=[Only these columns, in this order]:A,B,…:_default' \
'--limit=[At most N rows]:N:_default' \
'--color=[Colour in tables]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--cache-dir=[Where summaries are kept \[default\: dashboard/cache in the run directory\]]:DIR:_files' \
'--eval[The evaluation steps instead of the train steps]' \
'(-v --verbose)-q[No progress bar and no notes on stderr; errors stay]' \
'(-v --verbose)--quiet[No progress bar and no notes on stderr; errors stay]' \
'*-v[Say on stderr what is read and skipped; -vv says more]' \
'*--verbose[Say on stderr what is read and skipped; -vv says more]' \
'(--cache-dir)--no-cache[Neither read nor write kept summaries]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':steps -- Rollout id\: a number, '\''latest'\'', a range 3-7 or a list 3,5,9-12:_default' \
&& ret=0
;;
(joined)
_arguments "${_arguments_options[@]}" : \
'-d+[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--format=[Format of the rows \[default\: from the ending of -o, else a table on a terminal, else ndjson\]]:FORMAT:(ndjson json csv parquet table)' \
'-o+[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'--output=[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'*--columns=[Only these columns, in this order]:A,B,…:_default' \
'--limit=[At most N rows]:N:_default' \
'--color=[Colour in tables]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--cache-dir=[Where summaries are kept \[default\: dashboard/cache in the run directory\]]:DIR:_files' \
'(-v --verbose)-q[No progress bar and no notes on stderr; errors stay]' \
'(-v --verbose)--quiet[No progress bar and no notes on stderr; errors stay]' \
'*-v[Say on stderr what is read and skipped; -vv says more]' \
'*--verbose[Say on stderr what is read and skipped; -vv says more]' \
'(--cache-dir)--no-cache[Neither read nor write kept summaries]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':steps -- Rollout id\: a number, '\''latest'\'', a range 3-7 or a list 3,5,9-12:_default' \
&& ret=0
;;
(tokens)
_arguments "${_arguments_options[@]}" : \
'--start=[First position in the whole sequence, prompt included \[default\: 0\]]:A:_default' \
'--end=[Position to stop before \[default\: the end\]]:B:_default' \
'-d+[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--format=[Format of the rows \[default\: from the ending of -o, else a table on a terminal, else ndjson\]]:FORMAT:(ndjson json csv parquet table)' \
'-o+[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'--output=[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'*--columns=[Only these columns, in this order]:A,B,…:_default' \
'--limit=[At most N rows]:N:_default' \
'--color=[Colour in tables]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--cache-dir=[Where summaries are kept \[default\: dashboard/cache in the run directory\]]:DIR:_files' \
'--eval[The evaluation step instead of the train step]' \
'(--format --columns --limit)--object[Print one JSON object with lists, as the web API answers, instead of rows]' \
'(-v --verbose)-q[No progress bar and no notes on stderr; errors stay]' \
'(-v --verbose)--quiet[No progress bar and no notes on stderr; errors stay]' \
'*-v[Say on stderr what is read and skipped; -vv says more]' \
'*--verbose[Say on stderr what is read and skipped; -vv says more]' \
'(--cache-dir)--no-cache[Neither read nor write kept summaries]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':steps -- Rollout id\: a number, '\''latest'\'', a range 3-7 or a list 3,5,9-12:_default' \
':sample -- The sample'\''s index (sample_index in other commands):_default' \
&& ret=0
;;
(messages)
_arguments "${_arguments_options[@]}" : \
'-d+[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--format=[Format of the rows \[default\: from the ending of -o, else a table on a terminal, else ndjson\]]:FORMAT:(ndjson json csv parquet table)' \
'-o+[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'--output=[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'*--columns=[Only these columns, in this order]:A,B,…:_default' \
'--limit=[At most N rows]:N:_default' \
'--color=[Colour in tables]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--cache-dir=[Where summaries are kept \[default\: dashboard/cache in the run directory\]]:DIR:_files' \
'--eval[The evaluation step instead of the train step]' \
'(-v --verbose)-q[No progress bar and no notes on stderr; errors stay]' \
'(-v --verbose)--quiet[No progress bar and no notes on stderr; errors stay]' \
'*-v[Say on stderr what is read and skipped; -vv says more]' \
'*--verbose[Say on stderr what is read and skipped; -vv says more]' \
'(--cache-dir)--no-cache[Neither read nor write kept summaries]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':steps -- Rollout id\: a number, '\''latest'\'', a range 3-7 or a list 3,5,9-12:_default' \
':sample -- The sample'\''s index (sample_index in other commands):_default' \
&& ret=0
;;
(metrics)
_arguments "${_arguments_options[@]}" : \
'*--keys=[Only metrics that match; * is any text, ? any character]:GLOB,…:_default' \
'--x=[Only points counted by this step key, such as rollout/step]:STEP_KEY:_default' \
'--t0=[Points from here on\: Unix seconds, -1h (before the newest record), or RFC 3339]:T:_default' \
'--t1=[Points up to here]:T:_default' \
'-d+[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--format=[Format of the rows \[default\: from the ending of -o, else a table on a terminal, else ndjson\]]:FORMAT:(ndjson json csv parquet table)' \
'-o+[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'--output=[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'*--columns=[Only these columns, in this order]:A,B,…:_default' \
'--limit=[At most N rows]:N:_default' \
'--color=[Colour in tables]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--cache-dir=[Where summaries are kept \[default\: dashboard/cache in the run directory\]]:DIR:_files' \
'(-v --verbose)-q[No progress bar and no notes on stderr; errors stay]' \
'(-v --verbose)--quiet[No progress bar and no notes on stderr; errors stay]' \
'*-v[Say on stderr what is read and skipped; -vv says more]' \
'*--verbose[Say on stderr what is read and skipped; -vv says more]' \
'(--cache-dir)--no-cache[Neither read nor write kept summaries]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
&& ret=0
;;
(stream)
_arguments "${_arguments_options[@]}" : \
'--t0=[Records from here on\: Unix seconds, -1h (before the newest record), or RFC 3339]:T:_default' \
'--t1=[Records up to here]:T:_default' \
'--lanes=[Only these lanes\: rank\:0-7, g\:0-31, node\:NAME, gpu\:NODE\:I, engine\:ADDR, role\:train|rollout, every\:N, all]:SEL:_default' \
'-d+[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--format=[Format of the rows \[default\: from the ending of -o, else a table on a terminal, else ndjson\]]:FORMAT:(ndjson json csv parquet table)' \
'-o+[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'--output=[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'*--columns=[Only these columns, in this order]:A,B,…:_default' \
'--limit=[At most N rows]:N:_default' \
'--color=[Colour in tables]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--cache-dir=[Where summaries are kept \[default\: dashboard/cache in the run directory\]]:DIR:_files' \
'(-v --verbose)-q[No progress bar and no notes on stderr; errors stay]' \
'(-v --verbose)--quiet[No progress bar and no notes on stderr; errors stay]' \
'*-v[Say on stderr what is read and skipped; -vv says more]' \
'*--verbose[Say on stderr what is read and skipped; -vv says more]' \
'(--cache-dir)--no-cache[Neither read nor write kept summaries]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':name -- Name of the stream\: metrics, phases, topology, gpu_util, gpu_processes, gpu_health, engine_series, trajectories, data_buffer:_default' \
&& ret=0
;;
(inspect)
_arguments "${_arguments_options[@]}" : \
'-d+[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--format=[Format of the rows \[default\: from the ending of -o, else a table on a terminal, else ndjson\]]:FORMAT:(ndjson json csv parquet table)' \
'-o+[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'--output=[Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout]:FILE:_files' \
'*--columns=[Only these columns, in this order]:A,B,…:_default' \
'--limit=[At most N rows]:N:_default' \
'--color=[Colour in tables]:WHEN:((auto\:"On a terminal, unless NO_COLOR is set"
always\:"Always"
never\:"Never"))' \
'--cache-dir=[Where summaries are kept \[default\: dashboard/cache in the run directory\]]:DIR:_files' \
'(-v --verbose)-q[No progress bar and no notes on stderr; errors stay]' \
'(-v --verbose)--quiet[No progress bar and no notes on stderr; errors stay]' \
'*-v[Say on stderr what is read and skipped; -vv says more]' \
'*--verbose[Say on stderr what is read and skipped; -vv says more]' \
'(--cache-dir)--no-cache[Neither read nor write kept summaries]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':file -- The file, of any origin:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_miles-dump__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:miles-dump-help-command-$line[1]:"
        case $line[1] in
            (ids)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(steps)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(summary)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(groups)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(samples)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(joined)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(tokens)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(messages)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(metrics)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(stream)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(inspect)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
        esac
    ;;
esac
;;
        esac
    ;;
esac
}

(( $+functions[_miles-dump_commands] )) ||
_miles-dump_commands() {
    local commands; commands=(
'ids:One row a step\: size, age, and whether it is still being written' \
'steps:One row a train step\: number of samples and the eight dump/* metrics' \
'summary:One row a sample\: reward, lengths, versions, and masked statistics of the train side' \
'groups:One row a group (prompt)\: reward spread, lengths, zero-std groups' \
'samples:One row a sample as it was dumped\: every key but the per-token lists' \
'joined:One row a sample\: summary columns and the per-token lists of both sides' \
'tokens:One row a token of one sample\: ids, text, log-probs, advantages' \
'messages:One row a message of one sample'\''s conversation' \
'metrics:One row a point of the run'\''s metrics' \
'stream:The records of one telemetry stream' \
'inspect:The tree of any torch file\: path, type, dtype, shape, bytes; nothing in it is executed' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'miles-dump commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__groups_commands] )) ||
_miles-dump__subcmd__groups_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump groups commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__help_commands] )) ||
_miles-dump__subcmd__help_commands() {
    local commands; commands=(
'ids:One row a step\: size, age, and whether it is still being written' \
'steps:One row a train step\: number of samples and the eight dump/* metrics' \
'summary:One row a sample\: reward, lengths, versions, and masked statistics of the train side' \
'groups:One row a group (prompt)\: reward spread, lengths, zero-std groups' \
'samples:One row a sample as it was dumped\: every key but the per-token lists' \
'joined:One row a sample\: summary columns and the per-token lists of both sides' \
'tokens:One row a token of one sample\: ids, text, log-probs, advantages' \
'messages:One row a message of one sample'\''s conversation' \
'metrics:One row a point of the run'\''s metrics' \
'stream:The records of one telemetry stream' \
'inspect:The tree of any torch file\: path, type, dtype, shape, bytes; nothing in it is executed' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'miles-dump help commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__help__subcmd__groups_commands] )) ||
_miles-dump__subcmd__help__subcmd__groups_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump help groups commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__help__subcmd__help_commands] )) ||
_miles-dump__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump help help commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__help__subcmd__ids_commands] )) ||
_miles-dump__subcmd__help__subcmd__ids_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump help ids commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__help__subcmd__inspect_commands] )) ||
_miles-dump__subcmd__help__subcmd__inspect_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump help inspect commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__help__subcmd__joined_commands] )) ||
_miles-dump__subcmd__help__subcmd__joined_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump help joined commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__help__subcmd__messages_commands] )) ||
_miles-dump__subcmd__help__subcmd__messages_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump help messages commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__help__subcmd__metrics_commands] )) ||
_miles-dump__subcmd__help__subcmd__metrics_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump help metrics commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__help__subcmd__samples_commands] )) ||
_miles-dump__subcmd__help__subcmd__samples_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump help samples commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__help__subcmd__steps_commands] )) ||
_miles-dump__subcmd__help__subcmd__steps_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump help steps commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__help__subcmd__stream_commands] )) ||
_miles-dump__subcmd__help__subcmd__stream_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump help stream commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__help__subcmd__summary_commands] )) ||
_miles-dump__subcmd__help__subcmd__summary_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump help summary commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__help__subcmd__tokens_commands] )) ||
_miles-dump__subcmd__help__subcmd__tokens_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump help tokens commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__ids_commands] )) ||
_miles-dump__subcmd__ids_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump ids commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__inspect_commands] )) ||
_miles-dump__subcmd__inspect_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump inspect commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__joined_commands] )) ||
_miles-dump__subcmd__joined_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump joined commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__messages_commands] )) ||
_miles-dump__subcmd__messages_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump messages commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__metrics_commands] )) ||
_miles-dump__subcmd__metrics_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump metrics commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__samples_commands] )) ||
_miles-dump__subcmd__samples_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump samples commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__steps_commands] )) ||
_miles-dump__subcmd__steps_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump steps commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__stream_commands] )) ||
_miles-dump__subcmd__stream_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump stream commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__summary_commands] )) ||
_miles-dump__subcmd__summary_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump summary commands' commands "$@"
}
(( $+functions[_miles-dump__subcmd__tokens_commands] )) ||
_miles-dump__subcmd__tokens_commands() {
    local commands; commands=()
    _describe -t commands 'miles-dump tokens commands' commands "$@"
}

if [ "$funcstack[1]" = "_miles-dump" ]; then
    _miles-dump "$@"
else
    compdef _miles-dump miles-dump
fi
