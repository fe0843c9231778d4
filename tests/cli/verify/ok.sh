tenon sample -q s.bpk
tenon verify s.bpk && tenon verify -q s.bpk && tenon verify --deep --json s.bpk
