tenon sample -q s.bpk
status tenon convert s.bpk o.bpk --dtype nope
status tenon convert s.bpk o.bpk --dtype opaque
status tenon convert s.bpk o.bpk --dtype q8_0
status tenon convert s.bpk o.bpk --quantize f16
status tenon convert s.bpk o.bpk --quantize q4_k
status tenon convert s.bpk o.bpk --quantize q8_0 --filter layers.0.attn.q.weight
status tenon convert s.bpk o.bpk --dtype f32 --in-place --dry-run -q
status tenon convert s.bpk s.bpk --dtype f32 --in-place
ls
