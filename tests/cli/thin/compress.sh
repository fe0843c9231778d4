tenon sample -q --no-sync m.thin
tenon repack -q --no-sync --compress zstd m.thin z.thin
[ $(wc -c < z.thin) -lt $(wc -c < m.thin) ] && echo smaller
tenon info z.thin | sed -n 2,3p
tenon verify --deep z.thin
tenon hash m.thin | tail -1
tenon hash z.thin | tail -1
tenon repack -q --no-sync z.thin n.thin && cmp m.thin n.thin
tenon convert -q --no-sync z.thin o.thin && cmp m.thin o.thin
tenon unpack -q --no-sync z.thin dir && tenon pack -q --no-sync dir/manifest.json dir/pages p.thin && cmp m.thin p.thin
