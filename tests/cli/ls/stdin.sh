numbers >n.safetensors
tenon ls - <n.safetensors && numbers | tenon ls - --json
