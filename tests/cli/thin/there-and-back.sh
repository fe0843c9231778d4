tenon sample -q --no-sync m.thin
status tenon unpack --no-sync m.thin dir
ls dir dir/pages | head -5
status tenon pack --no-sync dir/manifest.json dir/pages n.thin
cmp m.thin n.thin
status tenon unpack --no-sync m.thin dir
status tenon unpack --no-sync --replace --json m.thin dir
status tenon pack --no-sync --json dir/manifest.json dir/pages n.thin
