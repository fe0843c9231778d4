for size in 1 500K 3M 20MiB; do
	tenon sample s.safetensors --no-sync --size $size && tenon ls s.safetensors | tail -n 1
done
tenon sample t.safetensors --tensors 3 && tenon ls t.safetensors
status tenon sample t.safetensors --tensors 3 --size 1M
status tenon sample t.safetensors --size 1X
