numbers >n.safetensors
tenon convert n.safetensors n.bpk --json && tenon convert n.safetensors d.bpk --dry-run --json
ls
