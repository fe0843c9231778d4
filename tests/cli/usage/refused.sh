status tenon nothing
status tenon help nothing
status tenon ls
status tenon ls a b
status tenon ls --nothing a
status tenon ls -x a
status tenon ls a --limit
status tenon ls a --limit -1
status tenon ls a --sort colour
status tenon ls a --tree=yes
status tenon ls a --max-memory 1Q
status tenon ls --json --nothing a
status tenon nothing --json
