tenon sample -q --no-sync m.thin
for size in 0.5 1b 3k 3KB 3KiB '3 kib' 64.2MiB 1g 2T 16777216t 16777217t 1x 1kk 1.2.3 . -1 1e3 ''; do
	printf '%s: ' "$size"
	tenon plan m.thin --json --vram "$size" | sed -n 's/  "vram_bytes": \(.*\),/\1/p; s/.*"message": \(".*"\).*/\1/p'
done
