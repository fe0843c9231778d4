tenon sample -q s.safetensors && tenon ls s.safetensors
