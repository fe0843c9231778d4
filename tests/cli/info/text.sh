tenon sample -q s.bpk && tenon info s.bpk
