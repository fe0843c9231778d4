tenon sample -q s.safetensors
tenon ls s.safetensors --filter '*.attn.[qk].*' --filter 'norm?weight'
