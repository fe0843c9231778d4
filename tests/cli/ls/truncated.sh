numbers | head -c 200 >n.safetensors
status tenon ls n.safetensors
status tenon ls --json n.safetensors
