hostile >h.safetensors
tenon ls -q h.safetensors && tenon ls -q --tree h.safetensors
