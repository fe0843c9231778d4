numbers | tenon convert - n.bpk && tenon ls n.bpk
