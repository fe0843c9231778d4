# A value of the same length, and a shorter one, leave all tensors where they are.
for ext in safetensors bpk gguf; do
	tenon sample -q m.$ext
	tenon hash m.$ext >list
	cp m.$ext before
	ln m.$ext link
	tenon meta set m.$ext name='tenon SAMPLE'
	tenon meta m.$ext set layers=3 name='a name'
	tenon meta m.$ext get name
	tenon meta m.$ext get layers
	tenon hash m.$ext --check list
	[ $(wc -c <m.$ext) = $(wc -c <before) ] && cmp -s m.$ext link && echo "as long, and the same file"
	tenon meta set m.$ext layers=2 name='tenon sample'
	cmp m.$ext before && echo "as it was"
	rm link
done
