numbers >n.safetensors
for s in 0 -1 : 0:1,: :,1 :,-2: 1,2 0:0 :2,0:3 ,; do
	echo "slice $s" && tenon get n.safetensors x --as text --slice $s
done
