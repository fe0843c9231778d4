# Rows longer than what is read at once, and cells far apart: the same bytes as when cut by other means.
safetensors '{"__metadata__":{"format":"pt"},"t":{"dtype":"U8","shape":[3,1500000],"data_offsets":[0,4500000]}}' >t.safetensors
yes 0123456789abc | head -c 4500000 >data
cat data >>t.safetensors
tenon get t.safetensors t -o all && cmp data all && echo all
tenon get t.safetensors t --slice 1: -o rows && tail -c 3000000 data | cmp - rows && echo rows
tenon get t.safetensors t --slice 1,-5:-1 -o cells && tail -c +2999996 data | head -c 4 | cmp - cells && echo cells
tenon get t.safetensors t --slice :,1499990: --as text
