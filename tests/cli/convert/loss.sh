tenon sample -q s.bpk
status tenon convert s.bpk s.safetensors --no-envelope
status tenon convert s.bpk s.safetensors --no-envelope --dry-run
ls
status tenon convert s.bpk s.safetensors --no-envelope --allow-loss -q
ls
