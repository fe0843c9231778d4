hostile >h.safetensors
tenon hash h.safetensors >list
cat list
tenon hash h.safetensors --check list
tenon hash h.safetensors --json >list.json
tenon hash h.safetensors --check list.json
