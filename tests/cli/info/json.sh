numbers >n.safetensors
tenon info --json n.safetensors
