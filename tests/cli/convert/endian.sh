# Every byte order, and back.
tenon sample -q m.gguf
tenon convert --carry --endian big m.gguf big.gguf
tenon info -q big.gguf 2>/dev/null | head -n 4
tenon hash m.gguf >list
tenon hash big.gguf --check list 2>/dev/null
tenon convert -q --carry big.gguf again.gguf && cmp big.gguf again.gguf && echo "the same order by itself"
tenon convert -q --carry --endian little big.gguf back.gguf && cmp m.gguf back.gguf && echo "and back"
status tenon convert --endian big m.gguf m.bpk
