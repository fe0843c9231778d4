printf 'no model' >x
status tenon verify x
status tenon verify --json x
status tenon verify nowhere
