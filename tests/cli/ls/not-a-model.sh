printf 'hello\033[31m\n' >hello
status tenon ls hello
status tenon ls --json hello
