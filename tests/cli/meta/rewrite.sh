# What does not fit is written anew, and slack makes room.
for ext in safetensors bpk gguf; do
	tenon sample -q m.$ext
	tenon hash m.$ext >list
	long=$(printf '%0400d' 7)
	tenon meta set m.$ext --slack 1000 title="$long"
	tenon meta set m.$ext author="$long"
	tenon meta rm m.$ext title author
	tenon meta get m.$ext name
	tenon hash m.$ext --check list
	tenon verify -q m.$ext && echo sound
done
tenon meta set m.gguf --no-in-place name='tenon SAMPLE'
