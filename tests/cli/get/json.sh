numbers >n.safetensors
tenon get n.safetensors x --json
