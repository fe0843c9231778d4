tenon sample -q s.safetensors && tenon ls --tree s.safetensors
