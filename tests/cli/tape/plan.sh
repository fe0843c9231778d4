tenon sample -q --no-sync m.thin
tenon plan m.thin --vram 1MiB
tenon plan m.thin --vram 0.3g --json --backend cuda --kv-dtype Q8 --ctx 100 --batch 2 --gpu-fraction .5
