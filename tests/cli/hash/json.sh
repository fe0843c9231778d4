numbers >n.safetensors
tenon hash --json n.safetensors
