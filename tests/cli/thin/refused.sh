numbers > n.safetensors
status tenon pack gone.json pages out.thin
echo '{' > bad.json
status tenon pack bad.json . out.thin
status tenon unpack n.safetensors dir
tenon sample -q --no-sync m.thin
printf x | dd of=m.thin bs=1 seek=$(($(wc -c < m.thin) - 1)) conv=notrunc 2>/dev/null
status tenon unpack m.thin dir
status tenon verify --deep m.thin
ls
