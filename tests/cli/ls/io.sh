numbers >n.safetensors
for io in auto mmap pread direct; do
	tenon ls --io $io n.safetensors | tail -n 1
done
