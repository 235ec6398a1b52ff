#compdef miles

autoload -U is-at-least

_miles() {
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
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
":: :_miles_commands" \
"*::: :->miles" \
&& ret=0
    case $state in
    (miles)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:miles-command-$line[1]:"
        case $line[1] in
            (dump)
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
":: :_miles__subcmd__dump_commands" \
"*::: :->dump" \
&& ret=0

    case $state in
    (dump)
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
":: :_miles__subcmd__dump__subcmd__help_commands" \
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
;;
(sample)
_arguments "${_arguments_options[@]}" : \
'--interval=[Time between two readings]:SECONDS:_default' \
'--process-interval=[Time between two lists of the GPUs'\'' processes; 0 for none]:SECONDS:_default' \
'--node=[Name of this host in the records \[default\: its address towards the network, as the job has it\]]:NAME:_default' \
'*--gpus=[Only these GPUs, by the driver'\''s numbers \[default\: all\]]:0,2,…:_default' \
'--count=[End after N readings \[default\: go on until told to end\]]:N:_default' \
'--nvml=[NVIDIA'\''s library \[default\: the system'\''s libnvidia-ml.so.1, else libnvidia-ml.so\]]:PATH:_files' \
'--health[Make records of gpu_health too]' \
'(-v --verbose)-q[No warnings on stderr; errors stay]' \
'(-v --verbose)--quiet[No warnings on stderr; errors stay]' \
'*-v[Say on stderr what was opened and how it ended]' \
'*--verbose[Say on stderr what was opened and how it ended]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(scrape)
_arguments "${_arguments_options[@]}" : \
'--router=[Router of the engines]:URL:_default' \
'(--topology)*--engine=[An engine; repeatable]:URL:_default' \
'--topology=[Run directory whose newest topology record names the engines; read again when it grows]:DIR:_files' \
'--mode=[Who is asked]:MODE:((auto\:"Each engine when addresses are known, else the router"
router\:"The router; each engine while it fails, where addresses are known"
direct\:"Each engine"))' \
'--interval=[Seconds from one scrape to the next]:SECONDS:_default' \
'--timeout=[Seconds that one request may take, all in all]:SECONDS:_default' \
'*--metrics=[These metrics instead of the usual ones, as sglang\:x, sglang_x or x; a histogram by its own name]:A,B,…:_default' \
'*--gpus=[GPUs of an engine, for topology records; repeatable. An engine without is external]:ADDR=NODE:0-7:_default' \
'--ca-file=[Authorities that https trusts, PEM, instead of the built-in ones of Mozilla]:FILE:_files' \
'--once[Scrape once and end]' \
'--discover[Ask the router for its workers, and write a topology record when they change]' \
'(-v --verbose)-q[No warnings on stderr; errors stay]' \
'(-v --verbose)--quiet[No warnings on stderr; errors stay]' \
'*-v[Say more on stderr]' \
'*--verbose[Say more on stderr]' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(collect)
_arguments "${_arguments_options[@]}" : \
'-d+[Run directory\: what the job was given as --dump-details; made if it is not there \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details; made if it is not there \[default\: the working directory, if it looks like a run\]]:DIR:_default' \
'*--listen=[Let producers connect here\: tcp\://HOST\:PORT (port 0 is any that is free) or unix\:PATH; repeatable]:ADDRESS:_default' \
'--flush-interval=[Write what waits at least so often]:SECONDS:_default' \
'--max-buffered=[Records of one stream that wait at most while the disk does not take them; then the oldest go]:N:_default' \
'--run-name=[Name of the run in meta.json \[default\: the one that is there, else the directory'\''s\]]:NAME:_default' \
'*--arg=[A setting of the job for args in meta.json; VALUE is JSON, or text if it is not; repeatable]:KEY=VALUE:_default' \
'--metrics-listen=[Serve the latest values as Prometheus text at http\://HOST\:PORT/metrics]:HOST:PORT:_default' \
'--fsync[Wait at each flush until the disk itself has it, not only the system]' \
'(-v --verbose)-q[Say nothing on stderr but errors and losses]' \
'(-v --verbose)--quiet[Say nothing on stderr but errors and losses]' \
'*-v[Tell each flush, and who comes and goes, on stderr]' \
'*--verbose[Tell each flush, and who comes and goes, on stderr]' \
'-h[Print help]' \
'--help[Print help]' \
'-V[Print version]' \
'--version[Print version]' \
&& ret=0
;;
(demo)
_arguments "${_arguments_options[@]}" : \
'--steps=[Train steps with dumps]:N:_default' \
'--prompts=[Prompts (groups) a step; an evaluation has a quarter of them]:N:_default' \
'--samples-per-prompt=[Samples a prompt]:N:_default' \
'--max-response=[Tokens of the longest response, at least 256]:TOKENS:_default' \
'--gpus=[GPUs a node; a trainer rank on each, of which the first 16 of the run dump]:N:_default' \
'--nodes=[Nodes]:N:_default' \
'--minutes=[Length of the telemetry, 0 for dumps alone \[default\: 30, or less for fewer than 8 steps\]]:N:_default' \
'--seed=[Where the random numbers begin]:N:_default' \
'--live[Let the run end now, and keep appending to it in real time until interrupted]' \
'-q[No progress bar and no notes on stderr; errors stay]' \
'--quiet[No progress bar and no notes on stderr; errors stay]' \
'-h[Print help]' \
'--help[Print help]' \
':dir -- Folder for the run\: new, empty, or an earlier demo run:_files' \
&& ret=0
;;
(serve)
_arguments "${_arguments_options[@]}" : \
'-d+[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\] \[env\: MILES_DUMP_DETAILS\]]:DIR:_default' \
'--dump-details=[Run directory\: what the job was given as --dump-details \[default\: the working directory, if it looks like a run\] \[env\: MILES_DUMP_DETAILS\]]:DIR:_default' \
'--port=[Port; 0 is any that is free]:PORT:_default' \
'--host=[Name or address to listen on]:HOST:_default' \
'--tensor-lru=[Steps that are held open]:N:_default' \
'--cache-dir=[Where summaries of steps and columns of streams are kept; nothing is written elsewhere \[default\: dashboard/cache in the run directory\]]:DIR:_files' \
'--low-mfu-threshold=[Mean MFU below which advice is given; 0 gives none]:FRACTION:_default' \
'(--no-auth)--token=[The token that other machines need \[default\: a new one each time\]; MILES_TOKEN keeps it out of the list of processes \[env\: MILES_TOKEN\]]:TOKEN:_default' \
'--follow[The run is being written\: look for what is new]' \
'--use-utilization-overview[Let the page open with the utilization overview]' \
'(-d --dump-details --cache-dir)--demo[Serve a synthetic run, which is gone afterwards]' \
'--open[Open the page in a browser]' \
'--no-auth[Let everybody who reaches the port read the run]' \
'(-v --verbose)-q[Say nothing on stderr but errors and the links]' \
'(-v --verbose)--quiet[Say nothing on stderr but errors and the links]' \
'*-v[Log each request on stderr]' \
'*--verbose[Log each request on stderr]' \
'-h[Print help]' \
'--help[Print help]' \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
'--tool=[For which binary]:TOOL:((miles\:"\`miles\`"
miles-dump\:"\`miles-dump\`"
miles-sample\:"\`miles-sample\`"
miles-scrape\:"\`miles-scrape\`"
miles-collect\:"\`miles-collect\`"))' \
'-h[Print help (see more with '\''--help'\'')]' \
'--help[Print help (see more with '\''--help'\'')]' \
':shell -- The shell:(bash elvish fish powershell zsh)' \
&& ret=0
;;
(man)
_arguments "${_arguments_options[@]}" : \
'-h[Print help]' \
'--help[Print help]' \
':dir -- Directory for the pages; made if it is not there:_files' \
&& ret=0
;;
(help)
_arguments "${_arguments_options[@]}" : \
":: :_miles__subcmd__help_commands" \
"*::: :->help" \
&& ret=0

    case $state in
    (help)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:miles-help-command-$line[1]:"
        case $line[1] in
            (dump)
_arguments "${_arguments_options[@]}" : \
":: :_miles__subcmd__help__subcmd__dump_commands" \
"*::: :->dump" \
&& ret=0

    case $state in
    (dump)
        words=($line[1] "${words[@]}")
        (( CURRENT += 1 ))
        curcontext="${curcontext%:*:*}:miles-help-dump-command-$line[1]:"
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
        esac
    ;;
esac
;;
(sample)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(scrape)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(collect)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(demo)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(serve)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(completions)
_arguments "${_arguments_options[@]}" : \
&& ret=0
;;
(man)
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

(( $+functions[_miles_commands] )) ||
_miles_commands() {
    local commands; commands=(
'dump:Show what a run'\''s dumps hold (miles-dump)' \
'sample:Read the GPUs of this host, as records on stdout (miles-sample)' \
'scrape:Read the metrics of sglang engines, as records on stdout (miles-scrape)' \
'collect:Write records from stdin and sockets to a run'\''s streams (miles-collect)' \
'demo:Write a synthetic run to try the tools on' \
'serve:Serve a run over HTTP\: the API and its pages' \
'completions:Print completions for a shell' \
'man:Write man pages, one a tool and command' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'miles commands' commands "$@"
}
(( $+functions[_miles__subcmd__collect_commands] )) ||
_miles__subcmd__collect_commands() {
    local commands; commands=()
    _describe -t commands 'miles collect commands' commands "$@"
}
(( $+functions[_miles__subcmd__completions_commands] )) ||
_miles__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'miles completions commands' commands "$@"
}
(( $+functions[_miles__subcmd__demo_commands] )) ||
_miles__subcmd__demo_commands() {
    local commands; commands=()
    _describe -t commands 'miles demo commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump_commands] )) ||
_miles__subcmd__dump_commands() {
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
    _describe -t commands 'miles dump commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__groups_commands] )) ||
_miles__subcmd__dump__subcmd__groups_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump groups commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__help_commands] )) ||
_miles__subcmd__dump__subcmd__help_commands() {
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
    _describe -t commands 'miles dump help commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__help__subcmd__groups_commands] )) ||
_miles__subcmd__dump__subcmd__help__subcmd__groups_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump help groups commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__help__subcmd__help_commands] )) ||
_miles__subcmd__dump__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump help help commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__help__subcmd__ids_commands] )) ||
_miles__subcmd__dump__subcmd__help__subcmd__ids_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump help ids commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__help__subcmd__inspect_commands] )) ||
_miles__subcmd__dump__subcmd__help__subcmd__inspect_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump help inspect commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__help__subcmd__joined_commands] )) ||
_miles__subcmd__dump__subcmd__help__subcmd__joined_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump help joined commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__help__subcmd__messages_commands] )) ||
_miles__subcmd__dump__subcmd__help__subcmd__messages_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump help messages commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__help__subcmd__metrics_commands] )) ||
_miles__subcmd__dump__subcmd__help__subcmd__metrics_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump help metrics commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__help__subcmd__samples_commands] )) ||
_miles__subcmd__dump__subcmd__help__subcmd__samples_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump help samples commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__help__subcmd__steps_commands] )) ||
_miles__subcmd__dump__subcmd__help__subcmd__steps_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump help steps commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__help__subcmd__stream_commands] )) ||
_miles__subcmd__dump__subcmd__help__subcmd__stream_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump help stream commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__help__subcmd__summary_commands] )) ||
_miles__subcmd__dump__subcmd__help__subcmd__summary_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump help summary commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__help__subcmd__tokens_commands] )) ||
_miles__subcmd__dump__subcmd__help__subcmd__tokens_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump help tokens commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__ids_commands] )) ||
_miles__subcmd__dump__subcmd__ids_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump ids commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__inspect_commands] )) ||
_miles__subcmd__dump__subcmd__inspect_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump inspect commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__joined_commands] )) ||
_miles__subcmd__dump__subcmd__joined_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump joined commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__messages_commands] )) ||
_miles__subcmd__dump__subcmd__messages_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump messages commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__metrics_commands] )) ||
_miles__subcmd__dump__subcmd__metrics_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump metrics commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__samples_commands] )) ||
_miles__subcmd__dump__subcmd__samples_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump samples commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__steps_commands] )) ||
_miles__subcmd__dump__subcmd__steps_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump steps commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__stream_commands] )) ||
_miles__subcmd__dump__subcmd__stream_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump stream commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__summary_commands] )) ||
_miles__subcmd__dump__subcmd__summary_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump summary commands' commands "$@"
}
(( $+functions[_miles__subcmd__dump__subcmd__tokens_commands] )) ||
_miles__subcmd__dump__subcmd__tokens_commands() {
    local commands; commands=()
    _describe -t commands 'miles dump tokens commands' commands "$@"
}
(( $+functions[_miles__subcmd__help_commands] )) ||
_miles__subcmd__help_commands() {
    local commands; commands=(
'dump:Show what a run'\''s dumps hold (miles-dump)' \
'sample:Read the GPUs of this host, as records on stdout (miles-sample)' \
'scrape:Read the metrics of sglang engines, as records on stdout (miles-scrape)' \
'collect:Write records from stdin and sockets to a run'\''s streams (miles-collect)' \
'demo:Write a synthetic run to try the tools on' \
'serve:Serve a run over HTTP\: the API and its pages' \
'completions:Print completions for a shell' \
'man:Write man pages, one a tool and command' \
'help:Print this message or the help of the given subcommand(s)' \
    )
    _describe -t commands 'miles help commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__collect_commands] )) ||
_miles__subcmd__help__subcmd__collect_commands() {
    local commands; commands=()
    _describe -t commands 'miles help collect commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__completions_commands] )) ||
_miles__subcmd__help__subcmd__completions_commands() {
    local commands; commands=()
    _describe -t commands 'miles help completions commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__demo_commands] )) ||
_miles__subcmd__help__subcmd__demo_commands() {
    local commands; commands=()
    _describe -t commands 'miles help demo commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__dump_commands] )) ||
_miles__subcmd__help__subcmd__dump_commands() {
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
    )
    _describe -t commands 'miles help dump commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__dump__subcmd__groups_commands] )) ||
_miles__subcmd__help__subcmd__dump__subcmd__groups_commands() {
    local commands; commands=()
    _describe -t commands 'miles help dump groups commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__dump__subcmd__ids_commands] )) ||
_miles__subcmd__help__subcmd__dump__subcmd__ids_commands() {
    local commands; commands=()
    _describe -t commands 'miles help dump ids commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__dump__subcmd__inspect_commands] )) ||
_miles__subcmd__help__subcmd__dump__subcmd__inspect_commands() {
    local commands; commands=()
    _describe -t commands 'miles help dump inspect commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__dump__subcmd__joined_commands] )) ||
_miles__subcmd__help__subcmd__dump__subcmd__joined_commands() {
    local commands; commands=()
    _describe -t commands 'miles help dump joined commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__dump__subcmd__messages_commands] )) ||
_miles__subcmd__help__subcmd__dump__subcmd__messages_commands() {
    local commands; commands=()
    _describe -t commands 'miles help dump messages commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__dump__subcmd__metrics_commands] )) ||
_miles__subcmd__help__subcmd__dump__subcmd__metrics_commands() {
    local commands; commands=()
    _describe -t commands 'miles help dump metrics commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__dump__subcmd__samples_commands] )) ||
_miles__subcmd__help__subcmd__dump__subcmd__samples_commands() {
    local commands; commands=()
    _describe -t commands 'miles help dump samples commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__dump__subcmd__steps_commands] )) ||
_miles__subcmd__help__subcmd__dump__subcmd__steps_commands() {
    local commands; commands=()
    _describe -t commands 'miles help dump steps commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__dump__subcmd__stream_commands] )) ||
_miles__subcmd__help__subcmd__dump__subcmd__stream_commands() {
    local commands; commands=()
    _describe -t commands 'miles help dump stream commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__dump__subcmd__summary_commands] )) ||
_miles__subcmd__help__subcmd__dump__subcmd__summary_commands() {
    local commands; commands=()
    _describe -t commands 'miles help dump summary commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__dump__subcmd__tokens_commands] )) ||
_miles__subcmd__help__subcmd__dump__subcmd__tokens_commands() {
    local commands; commands=()
    _describe -t commands 'miles help dump tokens commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__help_commands] )) ||
_miles__subcmd__help__subcmd__help_commands() {
    local commands; commands=()
    _describe -t commands 'miles help help commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__man_commands] )) ||
_miles__subcmd__help__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'miles help man commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__sample_commands] )) ||
_miles__subcmd__help__subcmd__sample_commands() {
    local commands; commands=()
    _describe -t commands 'miles help sample commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__scrape_commands] )) ||
_miles__subcmd__help__subcmd__scrape_commands() {
    local commands; commands=()
    _describe -t commands 'miles help scrape commands' commands "$@"
}
(( $+functions[_miles__subcmd__help__subcmd__serve_commands] )) ||
_miles__subcmd__help__subcmd__serve_commands() {
    local commands; commands=()
    _describe -t commands 'miles help serve commands' commands "$@"
}
(( $+functions[_miles__subcmd__man_commands] )) ||
_miles__subcmd__man_commands() {
    local commands; commands=()
    _describe -t commands 'miles man commands' commands "$@"
}
(( $+functions[_miles__subcmd__sample_commands] )) ||
_miles__subcmd__sample_commands() {
    local commands; commands=()
    _describe -t commands 'miles sample commands' commands "$@"
}
(( $+functions[_miles__subcmd__scrape_commands] )) ||
_miles__subcmd__scrape_commands() {
    local commands; commands=()
    _describe -t commands 'miles scrape commands' commands "$@"
}
(( $+functions[_miles__subcmd__serve_commands] )) ||
_miles__subcmd__serve_commands() {
    local commands; commands=()
    _describe -t commands 'miles serve commands' commands "$@"
}

if [ "$funcstack[1]" = "_miles" ]; then
    _miles "$@"
else
    compdef _miles miles
fi
