tenon sample -q --no-sync m.thin
tenon info --stats m.thin
tenon info --stats --json m.thin | head -50
