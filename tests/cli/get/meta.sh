tenon sample -q s.safetensors
tenon get s.safetensors --meta name
tenon get s.safetensors --meta control_tokens
tenon get s.safetensors --meta norm_epsilon
tenon get s.safetensors --meta hidden_size --json
status tenon get s.safetensors --meta nothing
status tenon get s.safetensors --meta name norm.weight
