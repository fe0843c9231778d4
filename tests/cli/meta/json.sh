tenon sample -q --tensors 2 m.gguf
tenon meta m.gguf set --json name='tenon SAMPLE'
tenon meta m.gguf set --json name='a name that takes more room than there was in the header of the file'
