# A byte of the last page is another: no target, no cast and no edit takes it, all else is converted.
tenon sample -q --no-sync m.thin
printf x | dd of=m.thin bs=1 seek=$(($(wc -c < m.thin) - 1)) conv=notrunc 2>/dev/null
for format in thin safetensors bpk apr gguf; do
	status tenon convert m.thin -q --no-sync --carry --allow-loss "out.$format"
done
for how in '--dtype f64' '--dtype f16' '--dtype bf16 --compress zstd' '--compress lz4'; do
	status tenon convert m.thin -q --no-sync --carry --allow-loss $how out.apr
done
status tenon meta m.thin -q set key=value
status tenon split m.thin -q --to safetensors dir
status tenon convert m.thin -q --no-sync --filter '*weight*' rest.safetensors
ls
