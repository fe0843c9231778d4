tenon sample -q --no-sync m.thin
numbers > n.safetensors
status tenon plan m.thin
status tenon profile m.thin
status tenon simulate m.thin
status tenon simulate m.thin --run
status tenon simulate m.thin --vram 1G --tokens 2
status tenon simulate - --run --vram 1G
status tenon plan m.thin --vram 1e3
status tenon plan m.thin --vram 1G --kv-dtype q9
status tenon plan m.thin --vram 1G --weight-residency some
status tenon plan m.thin --vram 1G --gpu-fraction 0
status tenon plan m.thin --vram 1G --gpu-fraction 1.01
status tenon plan m.thin --vram 1G --gpu-fraction half
status tenon plan n.safetensors --vram 1G
status tenon info --stats --json n.safetensors
status tenon simulate m.thin --run --budget 1K
status tenon profile m.thin --target-vram 1G -o gone/out.json
# A rule of the manifest is broken: no heads.
sed 's/"heads": 1/"heads": 0/' m.thin > bad.thin
status tenon plan bad.thin --vram 1G
