short_payload >q.bpk
status tenon verify q.bpk
status tenon verify -q q.bpk
status tenon verify --json q.bpk
