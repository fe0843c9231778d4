tenon sample -q --tensors 3 t.bpk && tenon map t.bpk
