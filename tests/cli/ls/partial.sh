numbers | head -c 200 >n.safetensors
status tenon ls --partial n.safetensors
status tenon ls --partial --json n.safetensors
status tenon ls --partial --quiet - <n.safetensors
numbers | head -c 100 >cut.safetensors
status tenon ls --partial cut.safetensors
