numbers >n.safetensors
tenon ls --tree --json n.safetensors
