hostile >h.safetensors
tenon ls --json h.safetensors --filter 'a*'
