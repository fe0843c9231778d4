numbers >n.safetensors
tenon hash n.safetensors >list
tenon hash n.safetensors --json >list.json
safetensors '{"__metadata__":{"format":"pt"},"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"y":{"dtype":"U8","shape":[2],"data_offsets":[24,26]}}      ' >m.safetensors
printf 'abcdefghijklmnopqrstuvwxyz' >>m.safetensors
status tenon hash m.safetensors --check list
status tenon hash m.safetensors --check list.json
status tenon hash m.safetensors --check list --json
