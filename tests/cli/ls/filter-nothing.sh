numbers >n.safetensors
tenon ls n.safetensors --filter 'q*' && tenon ls n.safetensors --filter '[!nx]' --json
