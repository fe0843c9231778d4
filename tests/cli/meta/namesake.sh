# A value of people's own that reads like an envelope, under the name that envelopes have: it is still theirs afterwards.
safetensors '{"__metadata__":{"k":"7"},"x":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}' >plain.safetensors
printf a >>plain.safetensors
for ext in safetensors bpk apr gguf thin; do
	tenon convert -q --no-sync plain.safetensors m.$ext
	for key in tenon tenon.meta; do
		tenon meta m.$ext set -q --no-sync "$key"='{"tenon":1,"native":{"y":{"z":1}}}'
	done
	echo $ext
	tenon meta m.$ext
done
