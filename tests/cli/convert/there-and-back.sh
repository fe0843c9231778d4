tenon sample -q s.bpk
tenon convert s.bpk s.safetensors
tenon convert s.safetensors back.bpk
cmp s.bpk back.bpk && echo same
tenon hash s.bpk >list && tenon hash s.safetensors --check list
