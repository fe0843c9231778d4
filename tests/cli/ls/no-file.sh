status tenon ls nowhere
status tenon ls --json nowhere
