numbers >n.safetensors
tenon hash n.safetensors >list
tenon hash n.safetensors --json >list.json
status tenon hash n.safetensors --check list
status tenon hash n.safetensors --check list.json -q
status tenon hash n.safetensors --check list --json
