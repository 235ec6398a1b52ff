# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_miles_dump_global_optspecs
    string join \n d/dump-details= format= o/output= columns= limit= color= q/quiet v/verbose cache-dir= no-cache h/help V/version
end

function __fish_miles_dump_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_miles_dump_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_miles_dump_using_subcommand
    set -l cmd (__fish_miles_dump_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c miles-dump -n "__fish_miles_dump_needs_command" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles-dump -n "__fish_miles_dump_needs_command" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles-dump -n "__fish_miles_dump_needs_command" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles-dump -n "__fish_miles_dump_needs_command" -l columns -d 'Only these columns, in this order' -r
complete -c miles-dump -n "__fish_miles_dump_needs_command" -l limit -d 'At most N rows' -r
complete -c miles-dump -n "__fish_miles_dump_needs_command" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles-dump -n "__fish_miles_dump_needs_command" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles-dump -n "__fish_miles_dump_needs_command" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -s V -l version -d 'Print version'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -f -a "ids" -d 'One row a step: size, age, and whether it is still being written'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -f -a "steps" -d 'One row a train step: number of samples and the eight dump/* metrics'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -f -a "summary" -d 'One row a sample: reward, lengths, versions, and masked statistics of the train side'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -f -a "groups" -d 'One row a group (prompt): reward spread, lengths, zero-std groups'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -f -a "samples" -d 'One row a sample as it was dumped: every key but the per-token lists'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -f -a "joined" -d 'One row a sample: summary columns and the per-token lists of both sides'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -f -a "tokens" -d 'One row a token of one sample: ids, text, log-probs, advantages'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -f -a "messages" -d 'One row a message of one sample\'s conversation'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -f -a "metrics" -d 'One row a point of the run\'s metrics'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -f -a "stream" -d 'The records of one telemetry stream'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -f -a "inspect" -d 'The tree of any torch file: path, type, dtype, shape, bytes; nothing in it is executed'
complete -c miles-dump -n "__fish_miles_dump_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand ids" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand ids" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand ids" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand ids" -l columns -d 'Only these columns, in this order' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand ids" -l limit -d 'At most N rows' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand ids" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand ids" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand ids" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand ids" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand ids" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand ids" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand steps" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand steps" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand steps" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand steps" -l columns -d 'Only these columns, in this order' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand steps" -l limit -d 'At most N rows' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand steps" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand steps" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand steps" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand steps" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand steps" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand steps" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand summary" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand summary" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand summary" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand summary" -l columns -d 'Only these columns, in this order' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand summary" -l limit -d 'At most N rows' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand summary" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand summary" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand summary" -l eval -d 'The evaluation steps instead of the train steps'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand summary" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand summary" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand summary" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand summary" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand groups" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand groups" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand groups" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand groups" -l columns -d 'Only these columns, in this order' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand groups" -l limit -d 'At most N rows' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand groups" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand groups" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand groups" -l eval -d 'The evaluation steps instead of the train steps'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand groups" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand groups" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand groups" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand groups" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand samples" -l with -d 'Per-token lists to add, such as tokens,loss_mask,rollout_log_probs' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand samples" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand samples" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand samples" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand samples" -l columns -d 'Only these columns, in this order' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand samples" -l limit -d 'At most N rows' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand samples" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand samples" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand samples" -l eval -d 'The evaluation steps instead of the train steps'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand samples" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand samples" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand samples" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand samples" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand joined" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand joined" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand joined" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand joined" -l columns -d 'Only these columns, in this order' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand joined" -l limit -d 'At most N rows' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand joined" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand joined" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand joined" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand joined" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand joined" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand joined" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -l start -d 'First position in the whole sequence, prompt included [default: 0]' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -l end -d 'Position to stop before [default: the end]' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -l columns -d 'Only these columns, in this order' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -l limit -d 'At most N rows' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -l eval -d 'The evaluation step instead of the train step'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -l object -d 'Print one JSON object with lists, as the web API answers, instead of rows'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand tokens" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand messages" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand messages" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand messages" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand messages" -l columns -d 'Only these columns, in this order' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand messages" -l limit -d 'At most N rows' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand messages" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand messages" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand messages" -l eval -d 'The evaluation step instead of the train step'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand messages" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand messages" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand messages" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand messages" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -l keys -d 'Only metrics that match; * is any text, ? any character' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -l x -d 'Only points counted by this step key, such as rollout/step' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -l t0 -d 'Points from here on: Unix seconds, -1h (before the newest record), or RFC 3339' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -l t1 -d 'Points up to here' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -l columns -d 'Only these columns, in this order' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -l limit -d 'At most N rows' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand metrics" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -l t0 -d 'Records from here on: Unix seconds, -1h (before the newest record), or RFC 3339' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -l t1 -d 'Records up to here' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -l lanes -d 'Only these lanes: rank:0-7, g:0-31, node:NAME, gpu:NODE:I, engine:ADDR, role:train|rollout, every:N, all' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -l columns -d 'Only these columns, in this order' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -l limit -d 'At most N rows' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand stream" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand inspect" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand inspect" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand inspect" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand inspect" -l columns -d 'Only these columns, in this order' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand inspect" -l limit -d 'At most N rows' -r
complete -c miles-dump -n "__fish_miles_dump_using_subcommand inspect" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles-dump -n "__fish_miles_dump_using_subcommand inspect" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles-dump -n "__fish_miles_dump_using_subcommand inspect" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand inspect" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand inspect" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand help; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "ids" -d 'One row a step: size, age, and whether it is still being written'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand help; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "steps" -d 'One row a train step: number of samples and the eight dump/* metrics'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand help; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "summary" -d 'One row a sample: reward, lengths, versions, and masked statistics of the train side'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand help; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "groups" -d 'One row a group (prompt): reward spread, lengths, zero-std groups'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand help; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "samples" -d 'One row a sample as it was dumped: every key but the per-token lists'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand help; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "joined" -d 'One row a sample: summary columns and the per-token lists of both sides'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand help; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "tokens" -d 'One row a token of one sample: ids, text, log-probs, advantages'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand help; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "messages" -d 'One row a message of one sample\'s conversation'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand help; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "metrics" -d 'One row a point of the run\'s metrics'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand help; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "stream" -d 'The records of one telemetry stream'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand help; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "inspect" -d 'The tree of any torch file: path, type, dtype, shape, bytes; nothing in it is executed'
complete -c miles-dump -n "__fish_miles_dump_using_subcommand help; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
