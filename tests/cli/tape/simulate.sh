tenon sample -q --no-sync m.thin
tenon simulate m.thin --vram 1G --weight-residency stream --ctx 10
tenon simulate m.thin --vram 1G --weight-residency stream --ctx 10 --json | head -40
