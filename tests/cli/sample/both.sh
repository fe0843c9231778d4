tenon sample s.safetensors && tenon sample s.bpk --json && tenon sample plain --to burnpack
tenon hash s.bpk | tail -n 1
tenon verify --deep s.bpk && tenon verify --deep s.safetensors
