tenon sample -q --no-sync m.thin
# Times and what the system counts differ from run to run.
tenon simulate m.thin --run --budget 128K --tokens 3 --prefetch-pages 2 --json |
	sed 's/\("system_faults"\|"device_bytes"\|"seconds"\): .*[0-9]/\1: N/'
tenon simulate m.thin --run --vram 1M | head -8 | cut -c-60
tenon sample -q --no-sync m.safetensors
tenon simulate m.safetensors --run --budget 1M | cut -c-60
# A page that is not what the archive says is found at its first use.
printf x | dd of=m.thin bs=1 seek=$(($(wc -c < m.thin) - 1)) conv=notrunc 2>/dev/null
status tenon simulate m.thin --run --vram 1M
