numbers >n.safetensors
tenon ls n.safetensors --sort=name --limit=1 --json
