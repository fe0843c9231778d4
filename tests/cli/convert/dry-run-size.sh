numbers >n.safetensors
tenon convert n.safetensors n.bpk --dry-run && ls && tenon convert -q n.safetensors n.bpk && wc -c <n.bpk
