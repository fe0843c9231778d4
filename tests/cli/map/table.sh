numbers >n.safetensors
tenon map n.safetensors && tenon map --json n.safetensors
