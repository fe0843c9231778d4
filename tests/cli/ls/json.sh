numbers >n.safetensors
tenon ls --json n.safetensors
