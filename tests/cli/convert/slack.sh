tenon sample -q m.gguf
tenon convert -q --carry m.gguf roomy.gguf --slack 1000
tenon info roomy.gguf | tail -n 4
tenon meta roomy.gguf set note="$(printf '%0800d' 7)"
tenon convert m.gguf m.bpk --slack 1000 -v
