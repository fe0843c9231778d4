numbers >n.safetensors && numbers >-n
tenon get -q -on1 n.safetensors n && tenon get n.safetensors n -qo n2 && tenon get --output=n3 n.safetensors -- n
cmp n1 n2 && cmp n1 n3
tenon ls -qv --limit=1 -- -n
