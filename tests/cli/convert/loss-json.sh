tenon sample -q s.bpk
status tenon convert s.bpk s.safetensors --no-envelope --json
