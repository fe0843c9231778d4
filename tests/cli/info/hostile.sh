hostile >h.safetensors
tenon info -q h.safetensors
