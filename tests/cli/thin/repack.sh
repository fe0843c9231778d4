tenon sample -q --no-sync m.thin
status tenon repack --no-sync m.thin exec.thin
status tenon repack --no-sync --layout hot --align 64 m.thin hot.thin
status tenon repack --dry-run --json --layout fused m.thin fused.thin
tenon hash m.thin | tail -1
tenon hash hot.thin | tail -1
tenon verify --deep hot.thin
ls
status tenon repack --layout odd m.thin x.thin
numbers > n.safetensors
status tenon repack n.safetensors x.thin
