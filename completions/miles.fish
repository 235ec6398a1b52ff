# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_miles_global_optspecs
    string join \n h/help V/version
end

function __fish_miles_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_miles_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_miles_using_subcommand
    set -l cmd (__fish_miles_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c miles -n "__fish_miles_needs_command" -s h -l help -d 'Print help'
complete -c miles -n "__fish_miles_needs_command" -s V -l version -d 'Print version'
complete -c miles -n "__fish_miles_needs_command" -f -a "dump" -d 'Show what a run\'s dumps hold (miles-dump)'
complete -c miles -n "__fish_miles_needs_command" -f -a "sample" -d 'Read the GPUs of this host, as records on stdout (miles-sample)'
complete -c miles -n "__fish_miles_needs_command" -f -a "scrape" -d 'Read the metrics of sglang engines, as records on stdout (miles-scrape)'
complete -c miles -n "__fish_miles_needs_command" -f -a "collect" -d 'Write records from stdin and sockets to a run\'s streams (miles-collect)'
complete -c miles -n "__fish_miles_needs_command" -f -a "demo" -d 'Write a synthetic run to try the tools on'
complete -c miles -n "__fish_miles_needs_command" -f -a "serve" -d 'Serve a run over HTTP: the API and its pages'
complete -c miles -n "__fish_miles_needs_command" -f -a "completions" -d 'Print completions for a shell'
complete -c miles -n "__fish_miles_needs_command" -f -a "man" -d 'Write man pages, one a tool and command'
complete -c miles -n "__fish_miles_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -l columns -d 'Only these columns, in this order' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -l limit -d 'At most N rows' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -s V -l version -d 'Print version'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "ids" -d 'One row a step: size, age, and whether it is still being written'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "steps" -d 'One row a train step: number of samples and the eight dump/* metrics'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "summary" -d 'One row a sample: reward, lengths, versions, and masked statistics of the train side'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "groups" -d 'One row a group (prompt): reward spread, lengths, zero-std groups'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "samples" -d 'One row a sample as it was dumped: every key but the per-token lists'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "joined" -d 'One row a sample: summary columns and the per-token lists of both sides'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "tokens" -d 'One row a token of one sample: ids, text, log-probs, advantages'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "messages" -d 'One row a message of one sample\'s conversation'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "metrics" -d 'One row a point of the run\'s metrics'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "stream" -d 'The records of one telemetry stream'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "inspect" -d 'The tree of any torch file: path, type, dtype, shape, bytes; nothing in it is executed'
complete -c miles -n "__fish_miles_using_subcommand dump; and not __fish_seen_subcommand_from ids steps summary groups samples joined tokens messages metrics stream inspect help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from ids" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from ids" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from ids" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from ids" -l columns -d 'Only these columns, in this order' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from ids" -l limit -d 'At most N rows' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from ids" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from ids" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from ids" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from ids" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from ids" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from ids" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from steps" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from steps" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from steps" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from steps" -l columns -d 'Only these columns, in this order' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from steps" -l limit -d 'At most N rows' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from steps" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from steps" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from steps" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from steps" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from steps" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from steps" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from summary" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from summary" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from summary" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from summary" -l columns -d 'Only these columns, in this order' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from summary" -l limit -d 'At most N rows' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from summary" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from summary" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from summary" -l eval -d 'The evaluation steps instead of the train steps'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from summary" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from summary" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from summary" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from summary" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from groups" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from groups" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from groups" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from groups" -l columns -d 'Only these columns, in this order' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from groups" -l limit -d 'At most N rows' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from groups" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from groups" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from groups" -l eval -d 'The evaluation steps instead of the train steps'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from groups" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from groups" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from groups" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from groups" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from samples" -l with -d 'Per-token lists to add, such as tokens,loss_mask,rollout_log_probs' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from samples" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from samples" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from samples" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from samples" -l columns -d 'Only these columns, in this order' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from samples" -l limit -d 'At most N rows' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from samples" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from samples" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from samples" -l eval -d 'The evaluation steps instead of the train steps'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from samples" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from samples" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from samples" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from samples" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from joined" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from joined" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from joined" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from joined" -l columns -d 'Only these columns, in this order' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from joined" -l limit -d 'At most N rows' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from joined" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from joined" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from joined" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from joined" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from joined" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from joined" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -l start -d 'First position in the whole sequence, prompt included [default: 0]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -l end -d 'Position to stop before [default: the end]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -l columns -d 'Only these columns, in this order' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -l limit -d 'At most N rows' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -l eval -d 'The evaluation step instead of the train step'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -l object -d 'Print one JSON object with lists, as the web API answers, instead of rows'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from tokens" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from messages" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from messages" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from messages" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from messages" -l columns -d 'Only these columns, in this order' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from messages" -l limit -d 'At most N rows' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from messages" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from messages" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from messages" -l eval -d 'The evaluation step instead of the train step'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from messages" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from messages" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from messages" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from messages" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -l keys -d 'Only metrics that match; * is any text, ? any character' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -l x -d 'Only points counted by this step key, such as rollout/step' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -l t0 -d 'Points from here on: Unix seconds, -1h (before the newest record), or RFC 3339' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -l t1 -d 'Points up to here' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -l columns -d 'Only these columns, in this order' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -l limit -d 'At most N rows' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from metrics" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -l t0 -d 'Records from here on: Unix seconds, -1h (before the newest record), or RFC 3339' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -l t1 -d 'Records up to here' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -l lanes -d 'Only these lanes: rank:0-7, g:0-31, node:NAME, gpu:NODE:I, engine:ADDR, role:train|rollout, every:N, all' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -l columns -d 'Only these columns, in this order' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -l limit -d 'At most N rows' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from stream" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from inspect" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run]' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from inspect" -l format -d 'Format of the rows [default: from the ending of -o, else a table on a terminal, else ndjson]' -r -f -a "ndjson\t''
json\t''
csv\t''
parquet\t''
table\t''"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from inspect" -s o -l output -d 'Write to FILE (.ndjson .jsonl .json .csv .parquet .txt), which appears when the last row is written; - is stdout' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from inspect" -l columns -d 'Only these columns, in this order' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from inspect" -l limit -d 'At most N rows' -r
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from inspect" -l color -d 'Colour in tables' -r -f -a "auto\t'On a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from inspect" -l cache-dir -d 'Where summaries are kept [default: dashboard/cache in the run directory]' -r -F
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from inspect" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from inspect" -s v -l verbose -d 'Say on stderr what is read and skipped; -vv says more'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from inspect" -l no-cache -d 'Neither read nor write kept summaries'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from help" -f -a "ids" -d 'One row a step: size, age, and whether it is still being written'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from help" -f -a "steps" -d 'One row a train step: number of samples and the eight dump/* metrics'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from help" -f -a "summary" -d 'One row a sample: reward, lengths, versions, and masked statistics of the train side'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from help" -f -a "groups" -d 'One row a group (prompt): reward spread, lengths, zero-std groups'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from help" -f -a "samples" -d 'One row a sample as it was dumped: every key but the per-token lists'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from help" -f -a "joined" -d 'One row a sample: summary columns and the per-token lists of both sides'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from help" -f -a "tokens" -d 'One row a token of one sample: ids, text, log-probs, advantages'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from help" -f -a "messages" -d 'One row a message of one sample\'s conversation'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from help" -f -a "metrics" -d 'One row a point of the run\'s metrics'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from help" -f -a "stream" -d 'The records of one telemetry stream'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from help" -f -a "inspect" -d 'The tree of any torch file: path, type, dtype, shape, bytes; nothing in it is executed'
complete -c miles -n "__fish_miles_using_subcommand dump; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c miles -n "__fish_miles_using_subcommand sample" -l interval -d 'Time between two readings' -r
complete -c miles -n "__fish_miles_using_subcommand sample" -l process-interval -d 'Time between two lists of the GPUs\' processes; 0 for none' -r
complete -c miles -n "__fish_miles_using_subcommand sample" -l node -d 'Name of this host in the records [default: its address towards the network, as the job has it]' -r
complete -c miles -n "__fish_miles_using_subcommand sample" -l gpus -d 'Only these GPUs, by the driver\'s numbers [default: all]' -r
complete -c miles -n "__fish_miles_using_subcommand sample" -l count -d 'End after N readings [default: go on until told to end]' -r
complete -c miles -n "__fish_miles_using_subcommand sample" -l nvml -d 'NVIDIA\'s library [default: the system\'s libnvidia-ml.so.1, else libnvidia-ml.so]' -r -F
complete -c miles -n "__fish_miles_using_subcommand sample" -l health -d 'Make records of gpu_health too'
complete -c miles -n "__fish_miles_using_subcommand sample" -s q -l quiet -d 'No warnings on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand sample" -s v -l verbose -d 'Say on stderr what was opened and how it ended'
complete -c miles -n "__fish_miles_using_subcommand sample" -s h -l help -d 'Print help'
complete -c miles -n "__fish_miles_using_subcommand sample" -s V -l version -d 'Print version'
complete -c miles -n "__fish_miles_using_subcommand scrape" -l router -d 'Router of the engines' -r
complete -c miles -n "__fish_miles_using_subcommand scrape" -l engine -d 'An engine; repeatable' -r
complete -c miles -n "__fish_miles_using_subcommand scrape" -l topology -d 'Run directory whose newest topology record names the engines; read again when it grows' -r -F
complete -c miles -n "__fish_miles_using_subcommand scrape" -l mode -d 'Who is asked' -r -f -a "auto\t'Each engine when addresses are known, else the router'
router\t'The router; each engine while it fails, where addresses are known'
direct\t'Each engine'"
complete -c miles -n "__fish_miles_using_subcommand scrape" -l interval -d 'Seconds from one scrape to the next' -r
complete -c miles -n "__fish_miles_using_subcommand scrape" -l timeout -d 'Seconds that one request may take, all in all' -r
complete -c miles -n "__fish_miles_using_subcommand scrape" -l metrics -d 'These metrics instead of the usual ones, as sglang:x, sglang_x or x; a histogram by its own name' -r
complete -c miles -n "__fish_miles_using_subcommand scrape" -l gpus -d 'GPUs of an engine, for topology records; repeatable. An engine without is external' -r
complete -c miles -n "__fish_miles_using_subcommand scrape" -l ca-file -d 'Authorities that https trusts, PEM, instead of the built-in ones of Mozilla' -r -F
complete -c miles -n "__fish_miles_using_subcommand scrape" -l once -d 'Scrape once and end'
complete -c miles -n "__fish_miles_using_subcommand scrape" -l discover -d 'Ask the router for its workers, and write a topology record when they change'
complete -c miles -n "__fish_miles_using_subcommand scrape" -s q -l quiet -d 'No warnings on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand scrape" -s v -l verbose -d 'Say more on stderr'
complete -c miles -n "__fish_miles_using_subcommand scrape" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand scrape" -s V -l version -d 'Print version'
complete -c miles -n "__fish_miles_using_subcommand collect" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details; made if it is not there [default: the working directory, if it looks like a run]' -r
complete -c miles -n "__fish_miles_using_subcommand collect" -l listen -d 'Let producers connect here: tcp://HOST:PORT (port 0 is any that is free) or unix:PATH; repeatable' -r
complete -c miles -n "__fish_miles_using_subcommand collect" -l flush-interval -d 'Write what waits at least so often' -r
complete -c miles -n "__fish_miles_using_subcommand collect" -l max-buffered -d 'Records of one stream that wait at most while the disk does not take them; then the oldest go' -r
complete -c miles -n "__fish_miles_using_subcommand collect" -l run-name -d 'Name of the run in meta.json [default: the one that is there, else the directory\'s]' -r
complete -c miles -n "__fish_miles_using_subcommand collect" -l arg -d 'A setting of the job for args in meta.json; VALUE is JSON, or text if it is not; repeatable' -r
complete -c miles -n "__fish_miles_using_subcommand collect" -l metrics-listen -d 'Serve the latest values as Prometheus text at http://HOST:PORT/metrics' -r
complete -c miles -n "__fish_miles_using_subcommand collect" -l fsync -d 'Wait at each flush until the disk itself has it, not only the system'
complete -c miles -n "__fish_miles_using_subcommand collect" -s q -l quiet -d 'Say nothing on stderr but errors and losses'
complete -c miles -n "__fish_miles_using_subcommand collect" -s v -l verbose -d 'Tell each flush, and who comes and goes, on stderr'
complete -c miles -n "__fish_miles_using_subcommand collect" -s h -l help -d 'Print help'
complete -c miles -n "__fish_miles_using_subcommand collect" -s V -l version -d 'Print version'
complete -c miles -n "__fish_miles_using_subcommand demo" -l steps -d 'Train steps with dumps' -r
complete -c miles -n "__fish_miles_using_subcommand demo" -l prompts -d 'Prompts (groups) a step; an evaluation has a quarter of them' -r
complete -c miles -n "__fish_miles_using_subcommand demo" -l samples-per-prompt -d 'Samples a prompt' -r
complete -c miles -n "__fish_miles_using_subcommand demo" -l max-response -d 'Tokens of the longest response, at least 256' -r
complete -c miles -n "__fish_miles_using_subcommand demo" -l gpus -d 'GPUs a node; a trainer rank on each, of which the first 16 of the run dump' -r
complete -c miles -n "__fish_miles_using_subcommand demo" -l nodes -d 'Nodes' -r
complete -c miles -n "__fish_miles_using_subcommand demo" -l minutes -d 'Length of the telemetry, 0 for dumps alone [default: 30, or less for fewer than 8 steps]' -r
complete -c miles -n "__fish_miles_using_subcommand demo" -l seed -d 'Where the random numbers begin' -r
complete -c miles -n "__fish_miles_using_subcommand demo" -l live -d 'Let the run end now, and keep appending to it in real time until interrupted'
complete -c miles -n "__fish_miles_using_subcommand demo" -s q -l quiet -d 'No progress bar and no notes on stderr; errors stay'
complete -c miles -n "__fish_miles_using_subcommand demo" -s h -l help -d 'Print help'
complete -c miles -n "__fish_miles_using_subcommand serve" -s d -l dump-details -d 'Run directory: what the job was given as --dump-details [default: the working directory, if it looks like a run] [env: MILES_DUMP_DETAILS]' -r
complete -c miles -n "__fish_miles_using_subcommand serve" -l port -d 'Port; 0 is any that is free' -r
complete -c miles -n "__fish_miles_using_subcommand serve" -l host -d 'Name or address to listen on' -r
complete -c miles -n "__fish_miles_using_subcommand serve" -l tensor-lru -d 'Steps that are held open' -r
complete -c miles -n "__fish_miles_using_subcommand serve" -l cache-dir -d 'Where summaries of steps and columns of streams are kept; nothing is written elsewhere [default: dashboard/cache in the run directory]' -r -F
complete -c miles -n "__fish_miles_using_subcommand serve" -l low-mfu-threshold -d 'Mean MFU below which advice is given; 0 gives none' -r
complete -c miles -n "__fish_miles_using_subcommand serve" -l token -d 'The token that other machines need [default: a new one each time]; MILES_TOKEN keeps it out of the list of processes [env: MILES_TOKEN]' -r
complete -c miles -n "__fish_miles_using_subcommand serve" -l follow -d 'The run is being written: look for what is new'
complete -c miles -n "__fish_miles_using_subcommand serve" -l use-utilization-overview -d 'Let the page open with the utilization overview'
complete -c miles -n "__fish_miles_using_subcommand serve" -l demo -d 'Serve a synthetic run, which is gone afterwards'
complete -c miles -n "__fish_miles_using_subcommand serve" -l open -d 'Open the page in a browser'
complete -c miles -n "__fish_miles_using_subcommand serve" -l no-auth -d 'Let everybody who reaches the port read the run'
complete -c miles -n "__fish_miles_using_subcommand serve" -s q -l quiet -d 'Say nothing on stderr but errors and the links'
complete -c miles -n "__fish_miles_using_subcommand serve" -s v -l verbose -d 'Log each request on stderr'
complete -c miles -n "__fish_miles_using_subcommand serve" -s h -l help -d 'Print help'
complete -c miles -n "__fish_miles_using_subcommand completions" -l tool -d 'For which binary' -r -f -a "miles\t'`miles`'
miles-dump\t'`miles-dump`'
miles-sample\t'`miles-sample`'
miles-scrape\t'`miles-scrape`'
miles-collect\t'`miles-collect`'"
complete -c miles -n "__fish_miles_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c miles -n "__fish_miles_using_subcommand man" -s h -l help -d 'Print help'
complete -c miles -n "__fish_miles_using_subcommand help; and not __fish_seen_subcommand_from dump sample scrape collect demo serve completions man help" -f -a "dump" -d 'Show what a run\'s dumps hold (miles-dump)'
complete -c miles -n "__fish_miles_using_subcommand help; and not __fish_seen_subcommand_from dump sample scrape collect demo serve completions man help" -f -a "sample" -d 'Read the GPUs of this host, as records on stdout (miles-sample)'
complete -c miles -n "__fish_miles_using_subcommand help; and not __fish_seen_subcommand_from dump sample scrape collect demo serve completions man help" -f -a "scrape" -d 'Read the metrics of sglang engines, as records on stdout (miles-scrape)'
complete -c miles -n "__fish_miles_using_subcommand help; and not __fish_seen_subcommand_from dump sample scrape collect demo serve completions man help" -f -a "collect" -d 'Write records from stdin and sockets to a run\'s streams (miles-collect)'
complete -c miles -n "__fish_miles_using_subcommand help; and not __fish_seen_subcommand_from dump sample scrape collect demo serve completions man help" -f -a "demo" -d 'Write a synthetic run to try the tools on'
complete -c miles -n "__fish_miles_using_subcommand help; and not __fish_seen_subcommand_from dump sample scrape collect demo serve completions man help" -f -a "serve" -d 'Serve a run over HTTP: the API and its pages'
complete -c miles -n "__fish_miles_using_subcommand help; and not __fish_seen_subcommand_from dump sample scrape collect demo serve completions man help" -f -a "completions" -d 'Print completions for a shell'
complete -c miles -n "__fish_miles_using_subcommand help; and not __fish_seen_subcommand_from dump sample scrape collect demo serve completions man help" -f -a "man" -d 'Write man pages, one a tool and command'
complete -c miles -n "__fish_miles_using_subcommand help; and not __fish_seen_subcommand_from dump sample scrape collect demo serve completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c miles -n "__fish_miles_using_subcommand help; and __fish_seen_subcommand_from dump" -f -a "ids" -d 'One row a step: size, age, and whether it is still being written'
complete -c miles -n "__fish_miles_using_subcommand help; and __fish_seen_subcommand_from dump" -f -a "steps" -d 'One row a train step: number of samples and the eight dump/* metrics'
complete -c miles -n "__fish_miles_using_subcommand help; and __fish_seen_subcommand_from dump" -f -a "summary" -d 'One row a sample: reward, lengths, versions, and masked statistics of the train side'
complete -c miles -n "__fish_miles_using_subcommand help; and __fish_seen_subcommand_from dump" -f -a "groups" -d 'One row a group (prompt): reward spread, lengths, zero-std groups'
complete -c miles -n "__fish_miles_using_subcommand help; and __fish_seen_subcommand_from dump" -f -a "samples" -d 'One row a sample as it was dumped: every key but the per-token lists'
complete -c miles -n "__fish_miles_using_subcommand help; and __fish_seen_subcommand_from dump" -f -a "joined" -d 'One row a sample: summary columns and the per-token lists of both sides'
complete -c miles -n "__fish_miles_using_subcommand help; and __fish_seen_subcommand_from dump" -f -a "tokens" -d 'One row a token of one sample: ids, text, log-probs, advantages'
complete -c miles -n "__fish_miles_using_subcommand help; and __fish_seen_subcommand_from dump" -f -a "messages" -d 'One row a message of one sample\'s conversation'
complete -c miles -n "__fish_miles_using_subcommand help; and __fish_seen_subcommand_from dump" -f -a "metrics" -d 'One row a point of the run\'s metrics'
complete -c miles -n "__fish_miles_using_subcommand help; and __fish_seen_subcommand_from dump" -f -a "stream" -d 'The records of one telemetry stream'
complete -c miles -n "__fish_miles_using_subcommand help; and __fish_seen_subcommand_from dump" -f -a "inspect" -d 'The tree of any torch file: path, type, dtype, shape, bytes; nothing in it is executed'
