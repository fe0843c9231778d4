tenon sample -q s.safetensors && tenon hash s.safetensors
